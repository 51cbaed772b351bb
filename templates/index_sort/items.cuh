// The items of a warp in a pass: a key, its position in `index`, and the digit that the pass sorts by.
#ifndef QUERN_INDEX_SORT_ITEMS_CUH_
#define QUERN_INDEX_SORT_ITEMS_CUH_

#include "common/sync.cuh"
#include "common/vector.cuh"
#include "index_sort/params.h"
#include "spec.cuh"

namespace quern::index_sort {

using namespace common;

constexpr u32 kAll = 0xffffffffu;
constexpr u32 kNone = 0xffffffffu;
constexpr u32 kBits = spec::bits, kDigits = 1u << kBits;
constexpr int kAhead = spec::unroll;  // items of a lane that are loaded together
// Threads of a digit, which divide the blocks.
constexpr u32 kShares = spec::max_threads >> spec::bits;

QUERN_DEVICE u32 lane() { return threadIdx.x % 32; }
QUERN_DEVICE u32 warp() { return threadIdx.x / 32; }
QUERN_DEVICE u32 warps() { return blockDim.x / 32; }
QUERN_DEVICE u32 lanes_below() { return (1u << lane()) - 1; }

struct Pass {
  u32 number;
  u32 shift;
  Pairs from;  // of the first pass: `index` instead
  Pairs to;
};

// The last pass writes `out`, the one before it `spare`, and so on.
QUERN_DEVICE Pass pass_at(const Params& p, u32 number) {
  const bool to_out = (p.passes - number) % 2 == 1;
  return {number, number * kBits, to_out ? p.spare : p.out, to_out ? p.out : p.spare};
}

struct Slice {
  u32 begin;
  u32 end;
};

// Consecutive warps of consecutive blocks have consecutive items.
QUERN_DEVICE Slice slice_of_warp(const Params& p) {
  const u32 first = blockIdx.x * p.block_items, left = p.count - first;
  const u32 items = left < p.block_items ? left : p.block_items;
  const u32 own = (items + blockDim.x - 1) / blockDim.x * 32, begin = warp() * own < items ? warp() * own : items;
  return {first + begin, first + (begin + own < items ? begin + own : items)};
}

// Indices outside of [0, rows) are sorted after all others.
QUERN_DEVICE u32 key_at(const Params& p, u32 position) {
  using Index = spec::Index;
  const i64 index = bit_cast<Index>(load<sizeof(Index)>(static_cast<const Index*>(p.index) + position));
  return static_cast<u32>(index < 0 || index >= p.rows ? p.rows : index);
}

struct Item {
  u32 key;
  u32 position;
};

// Other blocks have written the pairs: they are not read through L1.
QUERN_DEVICE Item item_at(const Params& p, const Pass& pass, u32 i) {
  if (pass.number == 0) return {key_at(p, i), i};
  return {load_relaxed(pass.from.keys + i), load_relaxed(pass.from.positions + i)};
}

// Calls body(i, item i, its digit, lanes that have the same digit) in all lanes of the warp; lanes without an item have
// the digit kNone.
template <class Body>
QUERN_DEVICE void for_items(const Params& p, const Pass& pass, const Slice& slice, const Body& body) {
#pragma unroll 1
  for (u32 first = slice.begin; first < slice.end; first += 32 * kAhead) {
    Item items[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const u32 i = first + k * 32 + lane();
      items[k] = {kNone, kNone};
      if (i < slice.end) items[k] = item_at(p, pass, i);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const u32 i = first + k * 32 + lane();
      const u32 digit = i < slice.end ? items[k].key >> pass.shift & (kDigits - 1) : kNone;
      body(i, items[k], digit, __match_any_sync(kAll, digit));
    }
  }
}

}  // namespace quern::index_sort

#endif  // QUERN_INDEX_SORT_ITEMS_CUH_
