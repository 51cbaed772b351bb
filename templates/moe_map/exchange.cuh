// What the blocks of a launch tell each other: how many routes of each expert they have. Each number is stored plus 1,
// and read until it is not 0, so that no fence and no barrier is needed. The last block clears the table.
#ifndef QUERN_MOE_MAP_EXCHANGE_CUH_
#define QUERN_MOE_MAP_EXCHANGE_CUH_

#include "common/sync.cuh"
#include "moe_map/ranges.cuh"

namespace quern::moe_map {

// Of an expert: the routes of all blocks, and of those before this one.
struct Counted {
  u32 all;
  u32 before;
};

QUERN_DEVICE u32* table(const Params& p) { return reinterpret_cast<u32*>(p.table); }
QUERN_DEVICE u32* entry(const Params& p, u32 block, u32 expert) { return table(p) + block * p.experts + expert; }
QUERN_DEVICE u32* dropped_entry(const Params& p, u32 block) { return entry(p, gridDim.x, block); }
QUERN_DEVICE u32* ended_blocks(const Params& p) { return dropped_entry(p, gridDim.x); }

QUERN_DEVICE void publish(const Params& p, const ExpertLane& e, u32 routes) {
  if constexpr (spec::one_block) return;
  if (e.first()) store_relaxed(entry(p, blockIdx.x, e.expert), routes + 1);
}

// Loads of a lane in flight.
constexpr u32 kEntries = kThreads > 512 ? 8 : 16;

// Reads until each of `found` is not 0.
template <class Entry>
QUERN_DEVICE void await_entries(u32 (&found)[kEntries], const Entry& at) {
  for (bool missing = true; missing;) {
#pragma unroll
    for (u32 i = 0; i < kEntries; ++i) {
      if (found[i] == 0) found[i] = load_relaxed(at(i));
    }
    missing = false;
#pragma unroll
    for (u32 i = 0; i < kEntries; ++i) missing = missing || found[i] == 0;
    if (missing) poll_again();
  }
}

// The lanes of an expert divide the blocks. The lanes of a warp read lines of consecutive experts.
QUERN_DEVICE Counted counted(const Params& p, const ExpertLane& e, u32 own) {
  if constexpr (spec::one_block) return {own, 0};
  Counted sum = {};
#pragma unroll 1
  for (u32 first = e.share; e.exists && first < gridDim.x; first += kEntries * kShares) {
    u32 found[kEntries];
#pragma unroll
    for (u32 i = 0; i < kEntries; ++i) found[i] = first + i * kShares < gridDim.x ? 0 : 1;
    await_entries(found, [&](u32 i) { return entry(p, first + i * kShares, e.expert); });
#pragma unroll
    for (u32 i = 0; i < kEntries; ++i) {
      sum.all += found[i] - 1;
      sum.before += first + i * kShares < blockIdx.x ? found[i] - 1 : 0;
    }
  }
  return {sum_of_shares(sum.all), sum_of_shares(sum.before)};
}

// The dropped routes of all blocks, in the first warp of block 0. By the first warp of each block.
QUERN_DEVICE u32 exchange_dropped(const Params& p) {
  const u32 own = __reduce_add_sync(kAll, lane() < kWarps ? sums_of_warps(2).get(lane()) : 0u);
  if constexpr (spec::one_block) return own;
  if (lane() == 0) store_relaxed(dropped_entry(p, blockIdx.x), own + 1);
  if (blockIdx.x != 0) return 0;
  u32 sum = 0;
#pragma unroll 1
  for (u32 block = lane(); block < gridDim.x; block += 32) sum += awaited(dropped_entry(p, block), 0) - 1;
  return __reduce_add_sync(kAll, sum);
}

// After all reads of the block. Returns, in thread 0, how many blocks had read the table before.
QUERN_DEVICE u32 end_reading(const Params& p) {
  if constexpr (spec::one_block) return 0;
  return add_relaxed(threadIdx.x == 0, ended_blocks(p), 1);
}

// `ended`: of end_reading.
QUERN_DEVICE void clear_table(const Params& p, u32 ended) {
  if constexpr (spec::one_block) return;
  if (__syncthreads_or(static_cast<int>(threadIdx.x == 0 && ended + 1 == gridDim.x)) == 0) return;
  write_range(p.table, static_cast<i64>(gridDim.x) * (p.experts + 1) + 1, 0, 0, of_block());
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_EXCHANGE_CUH_
