// The passes of a sort, and the items of a thread in one: a key, and the value that travels with it.
//
// Params derives from Buffers. Of an item that is to be sorted, by its number, its namespace has Key key_at(p, i) and
// u32 value_at(p, i). The spec has bits, unroll, max_threads and wide_keys.
#ifndef QUERN_SORT_ITEMS_CUH_
#define QUERN_SORT_ITEMS_CUH_

#include "sort/item.cuh"

namespace quern::sort {

constexpr u32 kBits = spec::bits, kDigits = 1u << kBits;
constexpr u32 kNone = kDigits;         // the digit of no item
constexpr u32 kUnroll = spec::unroll;  // items of a thread in a tile
// Threads of a digit, which divide the blocks.
constexpr u32 kShares = spec::max_threads >> spec::bits;

QUERN_DEVICE u32 lane() { return threadIdx.x % 32; }
QUERN_DEVICE u32 warp() { return threadIdx.x / 32; }
QUERN_DEVICE u32 warps() { return blockDim.x / 32; }
QUERN_DEVICE u32 lanes_below() { return (1u << lane()) - 1; }

// A pass does not begin after the one before it: a thread polls for each item that it reads. The highest bit of a key
// in a buffer says whether the pair is there. A buffer is 0 at first, and is used by every other pass: its first use
// stores keys with the flag, its second ones without it, its third ones with it. So pairs need not be cleared between
// two uses.
//
// A second use of a buffer, which only four passes or more have, is after a barrier of the grid: without one nothing
// orders its stores after the loads and stores of the first use by other blocks. Zeros that a reader stores, after its
// last use, are read by no one in the launch.
struct Pass {
  u32 number;
  u32 shift;
  Spare from;     // not of the first pass
  u32 from_flag;  // kFlag or 0: that of keys in `from` that have been stored
  Spare to;       // not of the last pass
  u32 to_flag;
  bool last;
  bool clears;  // `from` is not used again
};

QUERN_DEVICE Spare spare_of(const Buffers& p, u32 number) { return number % 2 == 0 ? p.spare[0] : p.spare[1]; }
QUERN_DEVICE u32 flag_of(u32 number) { return number / 2 % 2 == 0 ? kFlag : 0; }

// The last pass writes `out`, those before it the two buffers in turn.
QUERN_DEVICE Pass pass_at(const Buffers& p, u32 number) {
  return {number,
          number * kBits,
          spare_of(p, number + 1),
          flag_of(number - 1),
          spare_of(p, number),
          flag_of(number),
          number + 1 == p.passes,
          number > 0 && number + 2 >= p.passes};
}

// Whether the pass writes a buffer that an earlier one has written.
QUERN_DEVICE bool reuses_buffer(const Buffers& p, u32 number) { return number >= 2 && number + 1 < p.passes; }

// Items that a block has in its threads at once: up to kUnroll a thread. Consecutive warps have consecutive items, and
// consecutive lanes have them too.
struct Tile {
  u32 first;  // of the warp
  u32 count;  // of the warp

  QUERN_DEVICE bool has(u32 k) const { return k * 32 + lane() < count; }
  // Of 64 bits, so that those of a thread are one address and offsets in its instructions.
  QUERN_DEVICE u64 number(u32 k) const { return u64{first + lane()} + k * 32; }
};

// The number of tiles of this block.
QUERN_DEVICE u32 items_of_block(const Buffers& p) {
  const u32 left = p.count - blockIdx.x * p.block_items;
  return left < p.block_items ? left : p.block_items;
}
QUERN_DEVICE u32 tiles_of_block(const Buffers& p) {
  const u32 size = blockDim.x * kUnroll;
  return (items_of_block(p) + size - 1) / size;
}
QUERN_DEVICE u32 items_of_tile(const Buffers& p, u32 number) {
  const u32 size = blockDim.x * kUnroll, left = items_of_block(p) - number * size;
  return left < size ? left : size;
}
QUERN_DEVICE Tile tile_at(const Buffers& p, u32 number) {
  const u32 items = items_of_tile(p, number), own = (items + blockDim.x - 1) / blockDim.x * 32;
  const u32 begin = warp() * own, left = begin < items ? items - begin : 0;
  return {blockIdx.x * p.block_items + number * blockDim.x * kUnroll + begin, left < own ? left : own};
}

// A thread's items of the first pass, all in flight at once. What the tile does not have is undefined.
template <class Params>
QUERN_DEVICE void make_items(const Params& p, const Tile& tile, Item (&items)[kUnroll]) {
#pragma unroll
  for (u32 k = 0; k < kUnroll; ++k) {
    items[k] = {};
    const u32 position = static_cast<u32>(tile.number(k));
    if (tile.has(k)) items[k] = item_of(key_at(p, position), value_at(p, position));
  }
}

// The same of a later pass: reads pairs until each is there.
QUERN_DEVICE void await_items(const Pass& pass, const Tile& tile, Item (&items)[kUnroll]) {
#pragma unroll
  for (Item& item : items) set_missing(item, pass.from_flag);
  for (bool any = true; any;) {
#pragma unroll
    for (u32 k = 0; k < kUnroll; ++k) {
      if (!tile.has(k) || !is_missing(items[k], pass.from_flag)) continue;
      load_item(pass.from, tile.number(k), pass.from_flag, items[k]);
    }
    any = false;
#pragma unroll
    for (u32 k = 0; k < kUnroll; ++k) any = any || (tile.has(k) && is_missing(items[k], pass.from_flag));
    if (any) poll_again();
  }
#pragma unroll
  for (Item& item : items) remove_flag(item);
}

template <class Params>
QUERN_DEVICE void read_items(const Params& p, const Pass& pass, const Tile& tile, Item (&items)[kUnroll]) {
  if (pass.number == 0)
    make_items(p, tile, items);
  else
    await_items(pass, tile, items);
}

QUERN_DEVICE u32 digit_of(const Pass& pass, const Item& item) { return bits_from(item, pass.shift) & (kDigits - 1); }

}  // namespace quern::sort

#endif  // QUERN_SORT_ITEMS_CUH_
