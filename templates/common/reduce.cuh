#ifndef QUERN_COMMON_REDUCE_CUH_
#define QUERN_COMMON_REDUCE_CUH_

#include "common/elementwise.cuh"
#include "common/shared.cuh"

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

// Reductions in a fixed order: the same inputs on the same number of threads give the same bits, in every lane.
// All 32 lanes of each warp take part; a block has a multiple of 32 threads.

// The sum of what this lane and those below it have.
template <class T>
QUERN_DEVICE T warp_prefix_sum(T mine) {
#pragma unroll
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const T below = __shfl_up_sync(0xffffffffu, mine, distance);
    if (threadIdx.x % 32 >= distance) mine += below;
  }
  return mine;
}

struct Sum {
  static QUERN_DEVICE float nothing() { return 0.0f; }
  static QUERN_DEVICE float combine(float a, float b) { return a + b; }
};

// NaN propagates.
struct Max {
  static QUERN_DEVICE float nothing() { return bit_cast<float>(0xff800000u); }
  static QUERN_DEVICE float combine(float a, float b) { return max_of(a, b); }
};

template <class Op>
QUERN_DEVICE float warp_reduce(float v) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) v = Op::combine(v, __shfl_xor_sync(0xffffffffu, v, mask));
  return v;
}

// The block may use `shared` again at once.
template <class Op, int kMaxWarps, class Shared>
QUERN_DEVICE float block_reduce(float v, Shared& shared) {
  static_assert(kMaxWarps >= 1 && kMaxWarps <= 32);
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int warps = blockDim.x * blockDim.y * blockDim.z / 32, lane = thread % 32;
  v = warp_reduce<Op>(v);
  if constexpr (kMaxWarps == 1) return v;
  if (lane == 0) shared.set(thread / 32, v);
  __syncthreads();
  v = warp_reduce<Op>(lane < warps ? shared.get(lane) : Op::nothing());
  __syncthreads();
  return v;
}

QUERN_DEVICE float warp_sum(float v) { return warp_reduce<Sum>(v); }
QUERN_DEVICE float warp_max(float v) { return warp_reduce<Max>(v); }

// `shared`: a QUERN_SHARED array of kMaxWarps floats.
template <int kMaxWarps, class Shared>
QUERN_DEVICE float block_sum(float v, Shared& shared) {
  return block_reduce<Sum, kMaxWarps>(v, shared);
}

template <int kMaxWarps, class Shared>
QUERN_DEVICE float block_max(float v, Shared& shared) {
  return block_reduce<Max, kMaxWarps>(v, shared);
}

// The sum of what the threads below this one have; of a block of one dimension. `shared`: 32 T of shared memory, as
// QUERN_SHARED has them. The block may use it again after its next barrier.
template <class T, class Shared>
QUERN_DEVICE T block_prefix_sum(T mine, Shared& shared) {
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const T up_to = warp_prefix_sum(mine);
  if (lane == 31) shared.set(warp, up_to);
  __syncthreads();
  const T warps_up_to = warp_prefix_sum(lane < static_cast<int>(blockDim.x / 32) ? shared.get(lane) : T{});
  const T before = __shfl_sync(0xffffffffu, warps_up_to, (warp + 31) % 32);
  return (warp == 0 ? T{} : before) + up_to - mine;
}

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_REDUCE_CUH_
