// Sums over the rows, the columns or all of a matrix, in tiles. Read by host and kernel.
#ifndef QUERN_ROWS_SUMS_CUH_
#define QUERN_ROWS_SUMS_CUH_

#include "common/divide.cuh"

namespace quern::rows {

// A thread block has a tile of so many rows and columns. A chunk is 32 tiles, one below the other.
constexpr int kTileRows = 128;
constexpr int kTileColumns = 256;
constexpr int kTileThreads = 256;
constexpr int kChunkTiles = 32;

// What blocks tell each other, as words that are 0 between launches. `parts`: sums of a column.
struct TileSums {
  unsigned* tiles;         // [tiles, parts, columns]
  unsigned* chunks;        // [chunks, parts, columns]
  unsigned* arrived;       // [strips of 32 columns, chunks + 1]
  unsigned* rows;          // [segments, rows]
  unsigned* arrived_rows;  // [16 rows each]
  unsigned* total;         // [tiles * segments], [chunks of 32 of these], [these chunks + 1]
  unsigned segments;       // of a row: tiles side by side
  common::Divisor32 by_segments;
};

}  // namespace quern::rows

#endif  // QUERN_ROWS_SUMS_CUH_
