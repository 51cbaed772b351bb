// What the host hands the kernel. Read by both.
#ifndef QUERN_MXFP8_PARAMS_H_
#define QUERN_MXFP8_PARAMS_H_

#include "common/slots.cuh"

namespace quern::mxfp8 {

// In the order of quern::Mxfp8Block.
enum class Block { line, square, square_spread };

// As the kernel sees the problem: a matrix of `rows` rows of `cols` neighbours in memory for each expert. Blocks lie
// along the rows (row direction), across them (col direction), or both.
struct Params {
  const void* source;
  void* row_out;  // [experts, rows, cols]
  void* row_scales;
  void* col_out;  // [experts, cols, rows], or [experts, rows, cols] where it is not transposed
  void* col_scales;
  long long rows;
  long long cols;
  long long source_stride;  // elements between rows; experts are rows * source_stride apart
  long long row_blocks;     // blocks of a row: cols / 32, rounded up
  long long col_blocks;     // blocks of a column
};

// A slot is a vector of source.
struct StreamParams : Params {
  common::Slots slots;      // with blocked scales, of whole atoms of each expert
  common::Divisor by_rows;  // slots' rows an expert
  long long lines;          // that one matrix of scales is for: rows of an expert where they are blocked, else of all
};

// Tiles are numbered so that those at work at one time lie in a rather square part of the matrix, since what is read
// lies along its rows and what is written along its columns: `group` side by side, then the next such row of tiles.
struct TileParams : Params {
  unsigned across;  // tiles side by side
  unsigned down;
  unsigned group;
  common::Divisor by_tiles;  // of an expert
};

// A tile of the tile form: 128 rows, a warp for 32 of them; `warps` times that side by side.
constexpr int kTileRows = 128;
constexpr int kTileThreads = 128;

// Where its shared memory has what, in bytes: transposed lines of 128 elements, and of blocks along rows a scale and a
// reciprocal each.
struct TileShared {
  int reciprocals;
  int scales;
  int bytes;
};
QUERN_HOST_DEVICE constexpr TileShared tile_shared(int columns, bool lines, bool reciprocals, bool scales) {
  const int blocks = columns / 32 * kTileRows;
  const int at = lines ? columns * kTileRows : 0, then = at + (reciprocals ? 4 * blocks : 0);
  return {at, then, then + (scales ? blocks : 0)};
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_PARAMS_H_
