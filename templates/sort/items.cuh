// The items of a warp in a pass: a key, the value that travels with it, and the digit that the pass sorts by.
//
// Params derives from Buffers. Of an item that is to be sorted, by its number, its namespace has u32 key_at(p, i) and
// u32 value_at(p, i). The spec has bits, unroll and max_threads.
#ifndef QUERN_SORT_ITEMS_CUH_
#define QUERN_SORT_ITEMS_CUH_

#include "common/sync.cuh"
#include "common/vector.cuh"
#include "sort/buffers.cuh"
#include "spec.cuh"

namespace quern::sort {

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

// A pass does not begin after the one before it: a thread polls for each item that it reads. The highest bit of a word
// says whether it is there. A buffer is 0 at first, and is used by every other pass: its first use stores words with
// the flag, its second ones without it, its third ones with it. So words need not be cleared between two uses.
//
// A second use of a buffer, which only four passes or more have, is after a barrier of the grid: without one nothing
// orders its stores after the loads and stores of the first use by other blocks. Zeros that a reader stores, after its
// last use, are read by no one in the launch.
struct Pass {
  u32 number;
  u32 shift;
  Pairs from;     // not of the first pass
  u32 from_flag;  // kFlag or 0: that of words in `from` that have been stored
  Pairs to;
  u32 to_flag;
  bool clears;  // `from` is not used again
};

QUERN_DEVICE Pairs spare_of(const Buffers& p, u32 number) { return number % 2 == 0 ? p.spare[0] : p.spare[1]; }
QUERN_DEVICE u32 flag_of(u32 number) { return number / 2 % 2 == 0 ? kFlag : 0; }

// The last pass writes `out`, those before it the two buffers in turn.
QUERN_DEVICE Pass pass_at(const Buffers& p, u32 number) {
  const bool last = number + 1 == p.passes;
  return {number,
          number * kBits,
          spare_of(p, number + 1),
          flag_of(number - 1),
          last ? p.out : spare_of(p, number),
          last ? 0 : flag_of(number),
          number > 0 && number + 2 >= p.passes};
}

// Whether the pass writes a buffer that an earlier one has written.
QUERN_DEVICE bool reuses_buffer(const Buffers& p, u32 number) { return number >= 2 && number + 1 < p.passes; }

struct Slice {
  u32 begin;
  u32 end;
};

// Consecutive warps of consecutive blocks have consecutive items.
QUERN_DEVICE Slice slice_of_warp(const Buffers& p) {
  const u32 first = blockIdx.x * p.block_items, left = p.count - first;
  const u32 items = left < p.block_items ? left : p.block_items;
  const u32 own = (items + blockDim.x - 1) / blockDim.x * 32, begin = warp() * own < items ? warp() * own : items;
  return {first + begin, first + (begin + own < items ? begin + own : items)};
}

struct Item {
  u32 key;
  u32 value;
};

// Loads kAhead items of a lane, 32 apart from `first` on, all in flight at once. Items out of bounds, from `end` on,
// are undefined.
template <class Params>
QUERN_DEVICE void first_items(const Params& p, u32 first, u32 end, Item (&items)[kAhead]) {
#pragma unroll
  for (int k = 0; k < kAhead; ++k) {
    const u32 i = first + k * 32;
    items[k] = {};
    if (i < end) items[k] = {key_at(p, i), value_at(p, i)};
  }
}

// The same of a later pass: reads pairs until both words of each are there.
QUERN_DEVICE void await_items(const Pass& pass, u32 first, u32 end, Item (&items)[kAhead]) {
  const auto missing = [&](u32 word) { return ((word ^ pass.from_flag) & kFlag) != 0; };
#pragma unroll
  for (Item& item : items) item = {pass.from_flag ^ kFlag, pass.from_flag ^ kFlag};
  for (bool any = true; any;) {
    any = false;
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const u32 i = first + k * 32;
      if (i < end && missing(items[k].key)) items[k].key = load_relaxed(pass.from.keys + i);
      if (i < end && missing(items[k].value)) items[k].value = load_relaxed(pass.from.values + i);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      any = any || (first + k * 32 < end && (missing(items[k].key) || missing(items[k].value)));
    if (any) poll_again();
  }
#pragma unroll
  for (Item& item : items) item = {item.key & ~kFlag, item.value & ~kFlag};
}

// Calls body(i, item i, its digit, lanes that have the same digit) in all lanes of the warp; lanes without an item have
// the digit kNone.
template <class Params, class Body>
QUERN_DEVICE void for_items(const Params& p, const Pass& pass, const Slice& slice, const Body& body) {
#pragma unroll 1
  for (u32 first = slice.begin; first < slice.end; first += 32 * kAhead) {
    Item items[kAhead];
    if (pass.number == 0)
      first_items(p, first + lane(), slice.end, items);
    else
      await_items(pass, first + lane(), slice.end, items);
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const u32 i = first + k * 32 + lane();
      const u32 digit = i < slice.end ? items[k].key >> pass.shift & (kDigits - 1) : kNone;
      body(i, items[k], digit, __match_any_sync(kAll, digit));
    }
  }
}

}  // namespace quern::sort

#endif  // QUERN_SORT_ITEMS_CUH_
