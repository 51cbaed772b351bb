// What the blocks of a launch tell each other: how many routes of each expert they have. Each number is stored plus 1,
// and read until it is not 0, so that no fence and no barrier is needed. The last block clears the table.
#ifndef QUERN_MOE_MAP_EXCHANGE_CUH_
#define QUERN_MOE_MAP_EXCHANGE_CUH_

#include "common/sync.cuh"
#include "moe_map/block.cuh"

namespace quern::moe_map {

// Of a column: of all blocks, and of those before this one.
struct Counted {
  u32 all;
  u32 before;
};

QUERN_DEVICE u32* entry(const Params& p, u32 block, u32 column) { return p.table + block * (p.experts + 1) + column; }

QUERN_DEVICE void publish(const Params& p) {
  if constexpr (spec::one_block) return;
  for (u32 column = threadIdx.x; column <= p.experts; column += blockDim.x)
    store_relaxed(entry(p, blockIdx.x, column), experts_of_block().get(column) + 1);
}

QUERN_DEVICE Counted counted(const Params& p, u32 column) {
  if constexpr (spec::one_block) return {experts_of_block().get(column), 0};
  constexpr u32 kAhead = 8;
  Counted sum = {};
#pragma unroll 1
  for (u32 first = 0; first < gridDim.x; first += kAhead) {
    u32 found[kAhead];
#pragma unroll
    for (u32 i = 0; i < kAhead; ++i) found[i] = first + i < gridDim.x ? load_relaxed(entry(p, first + i, column)) : 1;
#pragma unroll
    for (u32 i = 0; i < kAhead; ++i) {
      const u32 own = awaited(entry(p, first + i, column), found[i]) - 1;
      sum.all += own;
      if (first + i < blockIdx.x) sum.before += own;
    }
  }
  return sum;
}

// After all reads of the block.
QUERN_DEVICE void clear_table(const Params& p) {
  if constexpr (spec::one_block) return;
  u32* const ended = entry(p, gridDim.x, 0);
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) last = add_relaxed(true, ended, 1) + 1 == gridDim.x;
  if (__syncthreads_or(static_cast<int>(last)) == 0) return;
  for (u32 i = threadIdx.x; i < gridDim.x * (p.experts + 1); i += blockDim.x) store_relaxed(p.table + i, 0);
  if (threadIdx.x == 0) store_relaxed(ended, 0);
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_EXCHANGE_CUH_
