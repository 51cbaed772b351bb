// A radix sort of pairs, least significant digit first. All of it is in one launch. Blocks wait for words of each
// other. A barrier of the grid, whose fences wait for all stores, is only where nothing else orders them.
#ifndef QUERN_SORT_RADIX_CUH_
#define QUERN_SORT_RADIX_CUH_

#include "sort/place.cuh"

namespace quern::sort {

// A thread's items of a tile, counted.
struct Counted {
  Item items[kUnroll];
  u32 ranks[kUnroll];
  u32 of_digit;  // items of the thread's digit in the tile
};

template <class Params>
QUERN_DEVICE void count_tile(const Params& p, const Pass& pass, u32 number, Counted& tile) {
  const Tile own = tile_at(p, number);
  read_items(p, pass, own, tile.items);
  rank_items(pass, own, tile.items, tile.ranks);
  tile.of_digit = threadIdx.x < kDigits ? add_up_warps(threadIdx.x) : 0;
}

// Stores the staged pairs of a tile. Those of a digit are adjacent, here and where they go, so that a warp writes whole
// sectors: a sector for each pair would keep the L2 cache busy four times as long.
QUERN_DEVICE void store_tile(const Buffers& p, const Pass& pass, u32 count) {
  const SharedWords distance = distances();
#pragma unroll 4
  for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
    Item item;
    load_staged(staged(i), staged_high(i), item);
    const u32 to = distance.get(digit_of(pass, item)) + i;
    if (pass.last)
      store_item(p.out, to, item);
    else
      store_item(pass.to, to, item, pass.to_flag);
  }
}

QUERN_DEVICE void clear_items(const Pass& pass, const Tile& tile) {
#pragma unroll
  for (u32 k = 0; k < kUnroll; ++k) {
    if (tile.has(k)) store_item(pass.from, tile.number(k), Item{}, 0);
  }
}

// The items of the thread's digit in all tiles of the block. The last one stays counted.
template <class Params>
QUERN_DEVICE u32 count_tiles(const Params& p, const Pass& pass, u32 tiles, Counted& tile) {
  u32 sum = 0;
#pragma unroll 1
  for (u32 number = 0; number < tiles; ++number) {
    if (number > 0) __syncthreads();  // counters are read
    count_tile(p, pass, number, tile);
    sum += tile.of_digit;
  }
  return sum;
}

template <class Params>
QUERN_DEVICE void sort_by_digit(const Params& p, const Pass& pass) {
  const u32 tiles = tiles_of_block(p);
  Counted tile;
  u32 place = find_place(p, pass, count_tiles(p, pass, tiles, tile));
  clear_entries(p, pass);
  if (reuses_buffer(p, pass.number)) grid_barrier(p.barrier);
#pragma unroll 1
  for (u32 number = 0; number < tiles; ++number) {
    __syncthreads();  // shared memory is read
    if (tiles > 1) count_tile(p, pass, number, tile);
    const Tile own = tile_at(p, number);
    stage_items(pass, own, tile.items, tile.ranks, tile.of_digit, place);
    store_tile(p, pass, items_of_tile(p, number));
    if (pass.clears) clear_items(pass, own);
    place += tile.of_digit;
  }
  __syncthreads();
}

template <class Params>
QUERN_DEVICE void sort_pairs(const Params& p) {
#pragma unroll 1
  for (u32 number = 0; number < p.passes; ++number) sort_by_digit(p, pass_at(p, number));
  clear_last_entries(p, pass_at(p, p.passes - 1));
}

}  // namespace quern::sort

#endif  // QUERN_SORT_RADIX_CUH_
