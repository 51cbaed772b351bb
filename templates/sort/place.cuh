// The place of each item: after all items of smaller digits, and after the items of its digit in earlier blocks, warps
// and lanes, so that the sort is stable.
#ifndef QUERN_SORT_PLACE_CUH_
#define QUERN_SORT_PLACE_CUH_

#include "sort/digits.cuh"

namespace quern::sort {

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

QUERN_DEVICE DigitItems items_of(u32 digit) {
  if (gridDim.x == 1) return {block_digits().get(digit), 0};
  DigitItems sum = {};
  for (u32 share = 0; share < kShares; ++share) {
    sum.all += share_all(share).get(digit);
    sum.before += share_before(share).get(digit);
  }
  return sum;
}

QUERN_DEVICE void find_places(const Buffers& p, const Pass& pass) {
  if (gridDim.x > 1 && threadIdx.x < kShares * kDigits)
    add_up_blocks(p, pass, threadIdx.x % kDigits, threadIdx.x / kDigits);
  __syncthreads();
  const u32 digit = threadIdx.x;
  const DigitItems own = digit < kDigits ? items_of(digit) : DigitItems{};
  const SharedWords sums = warp_sums();
  const u32 smaller = block_prefix_sum(own.all, sums);
  if (digit < kDigits) block_digits().set(digit, smaller + own.before);
  __syncthreads();
}

// An item of the workspace that is neither read nor written again.
QUERN_DEVICE void clear_item(const Pairs& pairs, u32 i) {
  store_relaxed(pairs.keys + i, 0);
  store_relaxed(pairs.values + i, 0);
}

template <class Params>
QUERN_DEVICE void place_items(const Params& p, const Pass& pass, const Slice& slice) {
  const SharedWords earlier = counters(warp());
  for_items(p, pass, slice, [&](u32 i, const Item& item, u32 digit, u32 same) {
    const u32 before = advance(earlier, digit, same);
    if (digit == kNone) return;
    const u32 to = block_digits().get(digit) + before + static_cast<u32>(__popc(same & lanes_below()));
    store_relaxed(pass.to.keys + to, item.key | pass.to_flag);
    store_relaxed(pass.to.values + to, item.value | pass.to_flag);
    if (pass.clears) clear_item(pass.from, i);
  });
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
