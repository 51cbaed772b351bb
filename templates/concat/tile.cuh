// What a thread block does: a tile of the matrix, of adjacent rows and columns. A thread has one column of it, so it
// looks for the column's source once for all of its rows.
#ifndef QUERN_CONCAT_TILE_CUH_
#define QUERN_CONCAT_TILE_CUH_

#include "common/vector.cuh"
#include "concat/params.h"
#include "spec.cuh"

namespace quern::concat {

using namespace common;
using Params = ParamsOf<spec::most, spec::flat, spec::indexed>;
using Word = Vector<spec::vector>;

constexpr int kBytes = spec::vector;
constexpr LoadHint kLoad = spec::load_once ? LoadHint::once : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

struct Tile {
  u32 source;  // flat: the one that its block is of
  i64 row;     // of the block, the tile's first one
  u32 rows;
  u32 column;  // likewise
  u32 columns;
  u32 last;    // columns of its last row: fewer where that is the block's
  u64 matrix;  // the address of its first slot
  i64 stride;  // bytes between rows of the matrix
};

// A thread's slots: one column of the tile, in the rows first + i * step < rows for i < spec::unroll.
struct Lane {
  u32 column;
  u32 first;
  u32 step;
  u32 rows;

  QUERN_DEVICE bool has(int i) const { return first + i * step < rows; }
  QUERN_DEVICE bool is_full() const { return has(spec::unroll - 1); }
};

// The last source whose first column, or tile, is not after `at`. Sources without columns are skipped.
QUERN_DEVICE u32 find(const Params& p, u32 at) {
  u32 source = 0;
#pragma unroll
  for (u32 step = spec::most / 2; step > 0; step /= 2) source += p.first[source + step] <= at ? step : 0;
  return source;
}

QUERN_DEVICE Tile tile_of(const Params& p) {
  Tile tile;
  tile.source = spec::flat ? find(p, blockIdx.x) : 0;
  const Block block = p.blocks[tile.source];
  const u32 number = blockIdx.x - (spec::flat ? p.first[tile.source] : 0);
  const u32 lanes = 1u << block.lanes_log2, across = (block.columns + lanes - 1) >> block.lanes_log2;
  const u32 band = across == 1 ? number : number / across;
  const u32 most = (blockDim.x >> block.lanes_log2) * spec::unroll;
  tile.row = static_cast<i64>(band) * most;
  tile.rows = block.rows - tile.row < most ? static_cast<u32>(block.rows - tile.row) : most;
  tile.column = (number - band * across) << block.lanes_log2;
  tile.columns = block.columns - tile.column < lanes ? block.columns - tile.column : lanes;
  tile.last = tile.row + tile.rows == block.rows && block.last < block.columns ? block.last : tile.columns;
  tile.stride = spec::flat ? static_cast<i64>(block.columns) * kBytes : p.matrix_stride;
  tile.matrix = block.matrix + static_cast<u64>(tile.row * tile.stride) + static_cast<u64>(tile.column) * kBytes;
  return tile;
}

QUERN_DEVICE Lane lane_of(const Params& p, const Tile& tile) {
  const u32 lanes_log2 = p.blocks[tile.source].lanes_log2, column = threadIdx.x & ((1u << lanes_log2) - 1);
  const u32 rows = column >= tile.columns ? 0 : column >= tile.last ? tile.rows - 1 : tile.rows;
  return {column, threadIdx.x >> lanes_log2, blockDim.x >> lanes_log2, rows};
}

// Calls body(i) for each slot. `Full`: the lane has them all, as almost every lane does. Without conditions their loads
// are all in flight at once.
template <bool Full, class Body>
QUERN_DEVICE void for_slots(const Lane& lane, const Body& body) {
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if (Full || lane.has(i)) body(i);
  }
}

}  // namespace quern::concat

#endif  // QUERN_CONCAT_TILE_CUH_
