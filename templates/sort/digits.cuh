// How many items of each digit there are: of each warp in shared memory, of each block in the table.
#ifndef QUERN_SORT_DIGITS_CUH_
#define QUERN_SORT_DIGITS_CUH_

#include "common/reduce.cuh"
#include "sort/items.cuh"

namespace quern::sort {

// Of a warp: its items of each digit; later the place of its next item of each.
QUERN_DEVICE SharedWords counters(u32 w) { return SharedWords(w * kDigits); }
// Of the block: the items of each digit; later the place of its first item of each.
QUERN_DEVICE SharedWords block_digits() { return SharedWords(warps() * kDigits); }
// Of a share of the blocks (see place.cuh): the items of each digit of all blocks in it, and of those before this one.
QUERN_DEVICE SharedWords share_all(u32 share) { return SharedWords((warps() + 1 + share) * kDigits); }
QUERN_DEVICE SharedWords share_before(u32 share) { return SharedWords((warps() + 1 + kShares + share) * kDigits); }
QUERN_DEVICE SharedWords warp_sums() { return SharedWords((warps() + 1 + 2 * kShares) * kDigits); }

// Adds to the digit's word and returns what it was, in all lanes that have the digit.
QUERN_DEVICE u32 advance(const SharedWords& words, u32 digit, u32 same) {
  u32 before = 0;
  if (digit != kNone) before = words.get(digit);
  __syncwarp();
  if (digit != kNone && (same & lanes_below()) == 0) words.set(digit, before + static_cast<u32>(__popc(same)));
  __syncwarp();
  return before;
}

template <class Params>
QUERN_DEVICE void count_digits(const Params& p, const Pass& pass, const Slice& slice) {
  const SharedWords own = counters(warp());
  for (u32 d = lane(); d < kDigits; d += 32) own.set(d, 0);
  __syncwarp();
  for_items(p, pass, slice, [&](u32, const Item&, u32 digit, u32 same) { advance(own, digit, same); });
  __syncthreads();
}

// What a block tells the others about a digit in a pass: the items plus 1, so never 0. Each pass has a part of its own
// in the table: a block that is behind may still read the part of the pass before.
QUERN_DEVICE u32* entry(const Buffers& p, const Pass& pass, u32 block, u32 digit) {
  return p.table + ((pass.number * gridDim.x + block) * kDigits + digit);
}

// Makes each warp's count of a digit that of the block's earlier warps, and tells the other blocks the sum.
QUERN_DEVICE void publish_digits(const Buffers& p, const Pass& pass) {
  if (const u32 d = threadIdx.x; d < kDigits) {
    u32 sum = 0;
#pragma unroll 4
    for (u32 w = 0; w < warps(); ++w) {
      const u32 own = counters(w).get(d);
      counters(w).set(d, sum);
      sum += own;
    }
    block_digits().set(d, sum);
    if (gridDim.x > 1) store_relaxed(entry(p, pass, blockIdx.x, d), sum + 1);
  }
}

}  // namespace quern::sort

#endif  // QUERN_SORT_DIGITS_CUH_
