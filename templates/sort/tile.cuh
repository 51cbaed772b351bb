// The items of a tile by their digits: how many there are of each, and their order in the tile.
#ifndef QUERN_SORT_TILE_CUH_
#define QUERN_SORT_TILE_CUH_

#include "common/reduce.cuh"
#include "sort/items.cuh"

namespace quern::sort {

// Of a warp: its items of each digit in the tile; then those of the warps before it.
QUERN_DEVICE SharedWords counters(u32 w) { return SharedWords(w * kDigits); }
// Of the tile: the place of the first item of each digit in it, and what leads from there to the place in the order
// of all items.
QUERN_DEVICE SharedWords firsts() { return SharedWords(warps() * kDigits); }
QUERN_DEVICE SharedWords distances() { return SharedWords((warps() + 1) * kDigits); }
// Of a share of the blocks (see place.cuh): the items of each digit of all blocks in it, and of those before this one.
QUERN_DEVICE SharedWords share_all(u32 share) { return SharedWords((warps() + 2 + share) * kDigits); }
QUERN_DEVICE SharedWords share_before(u32 share) { return SharedWords((warps() + 2 + kShares + share) * kDigits); }
QUERN_DEVICE SharedWords warp_sums() { return SharedWords((warps() + 2 + 2 * kShares) * kDigits); }
// The pairs of the tile, in the order of their digits.
QUERN_DEVICE u8* staged(u32 i) { return dynamic_shared() + ((warps() + 2 + 2 * kShares) * kDigits + 32) * 4 + i * 8; }

// What wide keys have above: after the pairs of a whole tile.
QUERN_DEVICE u8* staged_high(u32 i) { return staged(blockDim.x * kUnroll) + i * 4; }

// Adds to the digit's word and returns what it was, in all lanes that have the digit.
QUERN_DEVICE u32 advance(const SharedWords& words, u32 digit, u32 same) {
  u32 before = 0;
  if (digit != kNone) before = words.get(digit);
  __syncwarp();
  if (digit != kNone && (same & lanes_below()) == 0) words.set(digit, before + static_cast<u32>(__popc(same)));
  __syncwarp();
  return before;
}

// Counts the items of a tile in the warps' counters. `ranks`: how many of its digit are before an item in its warp.
QUERN_DEVICE void rank_items(const Pass& pass, const Tile& tile, const Item (&items)[kUnroll], u32 (&ranks)[kUnroll]) {
  const SharedWords own = counters(warp());
  for (u32 d = lane(); d < kDigits; d += 32) own.set(d, 0);
  __syncwarp();
#pragma unroll
  for (u32 k = 0; k < kUnroll; ++k) {
    if (k * 32 >= tile.count) break;  // the same for all lanes
    const u32 digit = tile.has(k) ? digit_of(pass, items[k]) : kNone;
    const u32 same = __match_any_sync(0xffffffffu, digit);
    ranks[k] = advance(own, digit, same) + static_cast<u32>(__popc(same & lanes_below()));
  }
  __syncthreads();
}

// Makes each warp's count of a digit that of the block's earlier warps; returns the sum. By the digit's thread.
QUERN_DEVICE u32 add_up_warps(u32 digit) {
  u32 sum = 0;
#pragma unroll 4
  for (u32 w = 0; w < warps(); ++w) {
    const u32 own = counters(w).get(digit);
    counters(w).set(digit, sum);
    sum += own;
  }
  return sum;
}

// Puts the pairs of a tile in the order of their digits. `items_of_digit`, and `place` of the digit's first item of the
// tile, are those of the thread's digit, where it has one.
QUERN_DEVICE void stage_items(const Pass& pass, const Tile& tile, const Item (&items)[kUnroll],
                              const u32 (&ranks)[kUnroll], u32 items_of_digit, u32 place) {
  const SharedWords sums = warp_sums(), first = firsts(), distance = distances(), earlier = counters(warp());
  const u32 smaller = block_prefix_sum(items_of_digit, sums);
  if (threadIdx.x < kDigits) {
    first.set(threadIdx.x, smaller);
    distance.set(threadIdx.x, place - smaller);
  }
  __syncthreads();
#pragma unroll
  for (u32 k = 0; k < kUnroll; ++k) {
    if (!tile.has(k)) continue;
    const u32 digit = digit_of(pass, items[k]), to = first.get(digit) + earlier.get(digit) + ranks[k];
    stage_item(staged(to), staged_high(to), items[k]);
  }
  __syncthreads();
}

}  // namespace quern::sort

#endif  // QUERN_SORT_TILE_CUH_
