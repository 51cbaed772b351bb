// The place of each item: after all items of smaller digits, and after the items of its digit in earlier blocks, warps
// and lanes, so that the sort is stable.
#ifndef QUERN_INDEX_SORT_PLACE_CUH_
#define QUERN_INDEX_SORT_PLACE_CUH_

#include "index_sort/digits.cuh"

namespace quern::index_sort {

// The threads of a digit divide the blocks: share s has blocks s, s + kShares and so on.
QUERN_DEVICE void add_up_blocks(const Params& p, u32 digit, u32 share) {
  u32 all = 0, before = 0;
#pragma unroll 8
  for (u32 block = share; block < gridDim.x; block += kShares) {
    const u32 own = load_relaxed(p.table + block * kDigits + digit);
    all += own;
    if (block < blockIdx.x) before += own;
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

QUERN_DEVICE void find_places(const Params& p) {
  if (gridDim.x > 1 && threadIdx.x < kShares * kDigits) add_up_blocks(p, threadIdx.x % kDigits, threadIdx.x / kDigits);
  __syncthreads();
  const u32 digit = threadIdx.x;
  const DigitItems own = digit < kDigits ? items_of(digit) : DigitItems{};
  const SharedWords sums = warp_sums();
  const u32 smaller = block_prefix_sum(own.all, sums);
  if (digit < kDigits) block_digits().set(digit, smaller + own.before);
  __syncthreads();
}

// An item of the workspace that is not read again.
QUERN_DEVICE void clear_item(const Pairs& pairs, u32 i) {
  store_relaxed(pairs.keys + i, 0);
  store_relaxed(pairs.positions + i, 0);
}

QUERN_DEVICE void place_items(const Params& p, const Pass& pass, const Slice& slice) {
  const SharedWords earlier = counters(warp());
  const bool clears = pass.number > 0 && pass.from.keys == p.spare.keys;
  for_items(p, pass, slice, [&](u32 i, const Item& item, u32 digit, u32 same) {
    const u32 before = advance(earlier, digit, same);
    if (digit == kNone) return;
    const u32 to = block_digits().get(digit) + before + static_cast<u32>(__popc(same & lanes_below()));
    store<4>(pass.to.keys + to, Vector<4>{{item.key}});
    store<4>(pass.to.positions + to, Vector<4>{{item.position}});
    if (clears) clear_item(pass.from, i);
  });
}

// After the last pass: the last block that has read the table clears it. What a block read from it is in shared memory
// by then, so its loads need no fence.
QUERN_DEVICE void clear_table(const Params& p) {
  if (gridDim.x == 1) return;
  __syncthreads();
  u32* const ended = p.barrier + 1;
  const bool last = threadIdx.x == 0 && add_relaxed(true, ended, 1) + 1 == gridDim.x;
  if (__syncthreads_or(static_cast<int>(last)) == 0) return;
  for (u32 i = threadIdx.x; i < gridDim.x * kDigits; i += blockDim.x) store_relaxed(p.table + i, 0);
  if (threadIdx.x < 2) store_relaxed(p.barrier + threadIdx.x, 0);
}

}  // namespace quern::index_sort

#endif  // QUERN_INDEX_SORT_PLACE_CUH_
