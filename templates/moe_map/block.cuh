// A thread block: its tokens, its shared memory, and sums over its threads.
#ifndef QUERN_MOE_MAP_BLOCK_CUH_
#define QUERN_MOE_MAP_BLOCK_CUH_

#include "common/divide.cuh"
#include "common/reduce.cuh"
#include "moe_map/params.h"
#include "spec.cuh"

namespace quern::moe_map {

using namespace common;

constexpr u32 kAll = 0xffffffffu;

QUERN_DEVICE u32 lane() { return threadIdx.x % 32; }
QUERN_DEVICE u32 warp() { return threadIdx.x / 32; }
QUERN_DEVICE u32 warps() { return blockDim.x / 32; }
QUERN_DEVICE u32 lanes_below() { return (1u << lane()) - 1; }

QUERN_DEVICE u32 popc(u32 bits) { return static_cast<u32>(__popc(bits)); }
QUERN_DEVICE void put(int* to, u32 value) { store<4>(to, Vector<4>{{value}}); }

struct Tokens {
  u64 first;
  u32 count;
};

QUERN_DEVICE Tokens tokens_of_block(const Params& p) {
  const u64 first = static_cast<u64>(blockIdx.x) * p.block_tokens, left = static_cast<u64>(p.tokens) - first;
  return {first, left < p.block_tokens ? static_cast<u32>(left) : p.block_tokens};
}

// An array of words in shared memory.
class Words {
 public:
  explicit QUERN_DEVICE Words(u32 first) : at_(dynamic_shared() + first * 4) {}
  QUERN_DEVICE u32 get(u32 i) const { return load_shared<4>(at_ + i * 4).w[0]; }
  QUERN_DEVICE void set(u32 i, u32 word) const { store_shared<4>(at_ + i * 4, Vector<4>{{word}}); }

 private:
  u8* at_;
};

// For each expert the number of the block's routes; later the row of its next route. The last entry counts routes
// beyond the topk-th of their token.
QUERN_DEVICE Words experts_of_block() { return Words(0); }
// The padding rows before each expert.
QUERN_DEVICE Words padding_before(const Params& p) { return Words(p.experts + 1); }
QUERN_DEVICE Words sums(const Params& p) { return Words(2 * p.experts + 1); }
constexpr u32 kSums = 2 * 32;
// The rest is for ids.cuh or mask.cuh.
QUERN_DEVICE u32 first_word(const Params& p) { return 2 * p.experts + 1 + kSums; }

struct PrefixSum {
  u32 before;
  u32 all;
};

// N exclusive prefix sums over the threads of the block, and their totals.
template <int N>
QUERN_DEVICE void block_prefix_sums(const Params& p, const u32 (&mine)[N], PrefixSum (&out)[N]) {
  static_assert(N * 32 <= kSums);
  const Words shared = sums(p);
  u32 up_to[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    up_to[i] = warp_prefix_sum(mine[i]);
    if (lane() == 31) shared.set(i * 32 + warp(), up_to[i]);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const u32 warps_up_to = warp_prefix_sum(lane() < warps() ? shared.get(i * 32 + lane()) : 0);
    const u32 before = __shfl_sync(kAll, warps_up_to, static_cast<int>(warp() + 31) % 32);
    out[i] = {(warp() == 0 ? 0 : before) + up_to[i] - mine[i], __shfl_sync(kAll, warps_up_to, 31)};
  }
  __syncthreads();
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_BLOCK_CUH_
