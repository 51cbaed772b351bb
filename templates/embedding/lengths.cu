// Offsets of bags from their lengths: where each bag begins, and where the last one ends. A block has adjacent bags. It
// adds them up for the others, waits for the sums of all blocks, and reads its lengths again. Sums wrap around.
#include "common/numbers.cuh"
#include "common/reduce.cuh"
#include "common/sync.cuh"
#include "embedding/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::embedding::LengthParams) == quern::spec::params_bytes,
              "host and device disagree about LengthParams");

namespace quern::embedding {

using namespace common;

constexpr int kItems = spec::unroll;  // adjacent bags of a thread

QUERN_DEVICE u64 length_at(const LengthParams& p, u64 bag, bool inside) {
  using Length = spec::Offset;
  const i64 length = bit_cast<Length>(load_if<sizeof(Length)>(inside, static_cast<const Length*>(p.lengths) + bag));
  return static_cast<u64>(length);
}

QUERN_DEVICE void put(unsigned long long* to, u64 number) { store<8>(to, bit_cast<Vector<8>>(number)); }

struct BlockSum {
  u64 before;  // of the threads below
  u64 all;
};

QUERN_DEVICE BlockSum sum_over_block(u64 mine) {
  const SharedLongs of_warps(0), of_block(32);
  const u64 before = block_prefix_sum(mine, of_warps);
  if (threadIdx.x == blockDim.x - 1) of_block.set(0, before + mine);
  __syncthreads();
  const u64 all = of_block.get(0);
  __syncthreads();
  return {before, all};
}

// The last block to have read the sums clears them.
QUERN_DEVICE void clear_sums(const LengthParams& p) {
  const bool last = threadIdx.x == 0 && add_relaxed(true, p.ended, 1) + 1 == gridDim.x;
  if (__syncthreads_or(static_cast<int>(last)) == 0) return;
  if (threadIdx.x < gridDim.x) put(p.sums + threadIdx.x, 0);
  if (threadIdx.x > 0) return;
  store_relaxed(p.ended, 0);
  store_relaxed(p.barrier, 0);
}

// The lengths of all bags of the blocks before. A block has a thread for each block.
QUERN_DEVICE u64 sum_before(const LengthParams& p, u64 begin, u64 end) {
  if (gridDim.x == 1) return 0;
  u64 own = 0;
#pragma unroll 4
  for (u64 bag = begin + threadIdx.x; bag < end; bag += blockDim.x) own += length_at(p, bag, true);
  const u64 all = sum_over_block(own).all;
  if (threadIdx.x == 0) put(p.sums + blockIdx.x, all);
  grid_barrier(p.barrier);
  const u64 earlier = bit_cast<u64>(load_if<8>(threadIdx.x < blockIdx.x, p.sums + threadIdx.x));
  const u64 before = sum_over_block(earlier).all;
  clear_sums(p);
  return before;
}

QUERN_DEVICE void write_offsets(const LengthParams& p) {
  const u64 begin = blockIdx.x * p.each, end = begin + p.each < p.bags ? begin + p.each : p.bags;
  u64 offset = sum_before(p, begin, end);
#pragma unroll 1
  for (u64 first = begin; first < end; first += blockDim.x * kItems) {
    const u64 bag = first + threadIdx.x * kItems;
    u64 lengths[kItems], own = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) lengths[i] = length_at(p, bag + i, bag + i < end);
#pragma unroll
    for (const u64 length : lengths) own += length;
    const BlockSum sum = sum_over_block(own);
    u64 at = offset + sum.before;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (bag + i < end) put(p.offsets + bag + i, at);
      at += lengths[i];
    }
    offset += sum.all;
  }
  if (end == p.bags && threadIdx.x == 0) put(p.offsets + p.bags, offset);
}

}  // namespace quern::embedding

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_embedding_offsets(const __grid_constant__ quern::embedding::LengthParams params) {
  quern::embedding::write_offsets(params);
}
