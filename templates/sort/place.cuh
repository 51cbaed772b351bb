// The place of a digit's items: after all items of smaller digits, and after those of the digit in earlier blocks, so
// that the sort is stable.
#ifndef QUERN_SORT_PLACE_CUH_
#define QUERN_SORT_PLACE_CUH_

#include "sort/tile.cuh"

namespace quern::sort {

// What a block tells the others about a digit in a pass: the items plus 1, so never 0. Each pass has a part of its own
// in the table: a block that is behind may still read the part of the pass before.
QUERN_DEVICE u32* entry(const Buffers& p, const Pass& pass, u32 block, u32 digit) {
  return p.table + ((pass.number * gridDim.x + block) * kDigits + digit);
}

// The threads of a digit divide the blocks: share s has blocks s, s + kShares and so on.
QUERN_DEVICE void add_up_blocks(const Buffers& p, const Pass& pass, u32 digit, u32 share) {
  constexpr u32 kEntries = 8;  // loads of a thread in flight
  u32 all = 0, before = 0;
#pragma unroll 1
  for (u32 first = share; first < gridDim.x; first += kEntries * kShares) {
    const u32 left = (gridDim.x - first + kShares - 1) / kShares, count = left < kEntries ? left : kEntries;
    u32 found[kEntries];
    await_words(entry(p, pass, first, digit), kShares * kDigits, count, found);
#pragma unroll
    for (u32 i = 0; i < kEntries; ++i) {
      const u32 own = i < count ? found[i] - 1 : 0;
      all += own;
      if (first + i * kShares < blockIdx.x) before += own;
    }
  }
  share_all(share).set(digit, all);
  share_before(share).set(digit, before);
}

struct DigitItems {
  u32 all;
  u32 before;  // in earlier blocks
};

// `own`: the block's items of the thread's digit, which are told to the others.
QUERN_DEVICE DigitItems items_of(const Buffers& p, const Pass& pass, u32 own) {
  if (gridDim.x == 1) return {own, 0};
  if (threadIdx.x < kDigits) store_relaxed(entry(p, pass, blockIdx.x, threadIdx.x), own + 1);
  if (threadIdx.x < kShares * kDigits) add_up_blocks(p, pass, threadIdx.x % kDigits, threadIdx.x / kDigits);
  __syncthreads();
  DigitItems sum = {};
  if (threadIdx.x >= kDigits) return sum;
  for (u32 share = 0; share < kShares; ++share) {
    sum.all += share_all(share).get(threadIdx.x);
    sum.before += share_before(share).get(threadIdx.x);
  }
  return sum;
}

// The place of the block's first item of the thread's digit, where it has one.
QUERN_DEVICE u32 find_place(const Buffers& p, const Pass& pass, u32 own) {
  const DigitItems items = items_of(p, pass, own);
  const SharedWords sums = warp_sums();
  return block_prefix_sum(items.all, sums) + items.before;
}

// Of the pass before, each thread clears what it stored. This block has the counts of this pass of all blocks, which
// publish them after they have read those of the pass before.
QUERN_DEVICE void clear_entries(const Buffers& p, const Pass& pass) {
  if (gridDim.x == 1 || pass.number == 0 || threadIdx.x >= kDigits) return;
  store_relaxed(entry(p, pass, blockIdx.x, threadIdx.x) - gridDim.x * kDigits, 0);
}

// Of the last pass, the last block that has read the entries clears them. What a block read is in shared memory by
// then, so its loads need no fence.
QUERN_DEVICE void clear_last_entries(const Buffers& p, const Pass& pass) {
  if (gridDim.x == 1) return;
  __syncthreads();
  const bool last = threadIdx.x == 0 && add_relaxed(true, p.ended, 1) + 1 == gridDim.x;
  if (__syncthreads_or(static_cast<int>(last)) == 0) return;
  for (u32 i = threadIdx.x; i < gridDim.x * kDigits; i += blockDim.x) store_relaxed(entry(p, pass, 0, i), 0);
  if (threadIdx.x > 0) return;
  store_relaxed(p.ended, 0);
  store_relaxed(p.barrier, 0);
}

}  // namespace quern::sort

#endif  // QUERN_SORT_PLACE_CUH_
