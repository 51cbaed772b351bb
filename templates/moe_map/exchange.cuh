// What the blocks of a launch tell each other: how many routes of each expert they have. Each number is stored plus 1,
// and read until it is not 0, so that no fence and no barrier is needed. The last block clears the counts; those of
// dropped routes are read and cleared by block 0 alone.
#ifndef QUERN_MOE_MAP_EXCHANGE_CUH_
#define QUERN_MOE_MAP_EXCHANGE_CUH_

#include "common/sync.cuh"
#include "moe_map/ranges.cuh"

namespace quern::moe_map {

// Words from the counts of a block to those of the next: whole lines.
constexpr u32 kTableStride = spec::table_stride;

QUERN_DEVICE u32* table(const Params& p) { return reinterpret_cast<u32*>(p.table); }
QUERN_DEVICE u32* entry(const Params& p, u32 block, u32 expert) { return table(p) + (block * kTableStride + expert); }
QUERN_DEVICE u32* ended_blocks(const Params& p) { return entry(p, gridDim.x, 0); }
QUERN_DEVICE u32* dropped_entry(const Params& p, u32 block) { return ended_blocks(p) + 1 + block; }

QUERN_DEVICE void publish(const Params& p, const ExpertLane& e, u32 routes) {
  if constexpr (spec::one_block) return;
  if (e.first()) store_relaxed(entry(p, blockIdx.x, e.expert), routes + 1);
}

// Loads of a lane in flight: every kShares-th block.
constexpr u32 kEntries = kThreads > 512 ? 8 : 16;

// How many of the blocks first, first + kShares, … are below `end`, and of one round of loads.
QUERN_DEVICE u32 entries_below(u32 first, u32 end) {
  return first < end ? least((end - first + kShares - 1) / kShares, kEntries) : 0;
}

// The lanes of an expert divide the blocks. The lanes of a warp read lines of consecutive experts.
QUERN_DEVICE Counted counted(const Params& p, const ExpertLane& e, u32 own) {
  if constexpr (spec::one_block) return {own, 0};
  Counted sum = {};
#pragma unroll 1
  for (u32 first = e.share; e.exists && first < gridDim.x; first += kEntries * kShares) {
    const u32 count = entries_below(first, gridDim.x), before = entries_below(first, blockIdx.x);
    u32 found[kEntries];
    await_words(entry(p, first, e.expert), kShares * kTableStride, count, found);
#pragma unroll
    for (u32 i = 0; i < kEntries; ++i) {
      sum.all += found[i];
      if (i < before) sum.before += found[i];
    }
    sum.all -= count;
    sum.before -= before;
  }
  return {sum_of_shares(sum.all), sum_of_shares(sum.before)};
}

// The routes that this block dropped. By a warp.
QUERN_DEVICE u32 dropped_of_block() {
  return __reduce_add_sync(kAll, lane() < kWarps ? sums_of_warps(2).get(lane()) : 0u);
}

QUERN_DEVICE void publish_dropped(const Params& p) {
  if (spec::one_block || warp() != 0) return;
  const u32 own = dropped_of_block();
  if (lane() == 0) store_relaxed(dropped_entry(p, blockIdx.x), own + 1);
}

// The routes that all blocks dropped. By the first warp of block 0.
QUERN_DEVICE u32 dropped_of_all(const Params& p) {
  if constexpr (spec::one_block) return dropped_of_block();
  u32 sum = 0;
#pragma unroll 1
  for (u32 block = lane(); block < gridDim.x; block += 32) {
    sum += awaited(dropped_entry(p, block), 0) - 1;
    store_relaxed(dropped_entry(p, block), 0);
  }
  return __reduce_add_sync(kAll, sum);
}

// After all reads of counts. Returns, in thread 0, how many blocks had read them before.
QUERN_DEVICE u32 end_reading(const Params& p) {
  if constexpr (spec::one_block) return 0;
  return add_relaxed(threadIdx.x == 0, ended_blocks(p), 1);
}

// `ended`: of end_reading.
QUERN_DEVICE void clear_table(const Params& p, u32 ended) {
  if constexpr (spec::one_block) return;
  if (__syncthreads_or(static_cast<int>(threadIdx.x == 0 && ended + 1 == gridDim.x)) == 0) return;
  write_range(p.table, static_cast<i64>(gridDim.x) * kTableStride + 1, 0, 0, of_block());
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_EXCHANGE_CUH_
