// Sums over a matrix in tiles, in one launch. A thread block has a tile of 128 rows and 256 columns, a warp 16 rows of
// it. The sums are in the same order for every config and every number of blocks: of a column 16 rows in sequence, two
// such sums, four of these in pairs, up to 32 tiles in sequence, and all of these in sequence; of a row 256 columns as
// a tree, those first whose numbers differ in bit 0, then in bit 1, and so on, and tiles in sequence; of the whole
// these rows in sequence in a warp, the warps of a tile as its rows, up to 32 tiles in sequence, row by row of them,
// and all of these in sequence.
//
// The last warp to arrive at a part of the sums continues with it. The others have sent theirs by then, but they may
// not have arrived, so it waits for each; that needs no other block to run.
#ifndef QUERN_ROWS_TILE_SUMS_CUH_
#define QUERN_ROWS_TILE_SUMS_CUH_

#include "common/sent_sums.cuh"
#include "common/shared.cuh"
#include "rows/elements.cuh"
#include "rows/sums.cuh"

namespace quern::rows {

constexpr int kWarps = kTileThreads / 32;
constexpr int kWarpRows = kTileRows / kWarps;
constexpr int kOfLane = kTileColumns / 32;
constexpr int kPieces = kOfLane / kElements;              // of a lane in a row: one access each
constexpr int kAdjacent = spec::vectors ? kElements : 1;  // columns of a lane
static_assert(kPieces * kElements == kOfLane, "a lane has eight elements of a row");
static_assert(kWarps == 8 && kWarpRows == 16, "the order of the sums");

struct TilePlace {
  u32 tile;     // from the top
  u32 segment;  // from the left
  QUERN_DEVICE i64 row() const { return static_cast<i64>(tile) * kTileRows + threadIdx.x / 32 * kWarpRows; }
  QUERN_DEVICE int column() const { return static_cast<int>(segment) * kTileColumns; }
};

QUERN_DEVICE TilePlace tile_place(const TileSums& s) {
  const u32 tile = divide32(blockIdx.x, s.by_segments);
  return {tile, blockIdx.x - tile * s.segments};
}

// The pieces of all lanes lie side by side. Where a piece is elements 32 apart, the lane has one.
QUERN_DEVICE int piece_column(const TilePlace& tile, int piece) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return tile.column() + (spec::vectors ? (piece * 32 + lane) * kElements : lane);
}

// The warp's rows in sequence, by their numbers in it; `spec::unroll` of them are on their way. read(number, row)
// starts one, and reads nothing from number kWarpRows on; make(number, row, made) needs the row no more; write(made)
// comes after the reads that it would delay.
// Elements one by one take too many registers for a row ahead.
template <class Row, class Made, class Read, class Make, class Write>
QUERN_DEVICE void for_warp_rows(const Read& read, const Make& make, const Write& write) {
  Row rows[spec::unroll];
#pragma unroll
  for (int u = 0; spec::vectors && u < spec::unroll; ++u) read(u, rows[u]);
#pragma unroll 1
  for (int first = 0; first < kWarpRows; first += spec::unroll) {
#pragma unroll
    for (int u = 0; u < spec::unroll; ++u) {
      Made made;
      if constexpr (!spec::vectors) read(first + u, rows[u]);
      make(first + u, rows[u], made);
      if constexpr (spec::vectors) read(first + u + spec::unroll, rows[u]);
      write(made);
    }
  }
}

// ---- Sums of a thread, and of a warp

template <int Parts>
struct ColumnSums {
  float of[Parts][kOfLane] = {};
};

QUERN_DEVICE float pairwise(const float (&x)[8]) {
  return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}
// Sums of two whose numbers differ in that bit, at the lower one.
QUERN_DEVICE void add_pairs(float (&x)[kOfLane], int bit) {
#pragma unroll
  for (int i = 0; i < kOfLane; i += 2 * bit) x[i] += x[i + bit];
}
QUERN_DEVICE float of_lanes(float x) {
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}

// Of the 256 columns: a lane's adjacent ones, then those of all lanes, then what is left of a lane. Each lane gets it.
QUERN_DEVICE float row_sum(const float (&products)[kOfLane]) {
  float sums[kOfLane];
#pragma unroll
  for (int i = 0; i < kOfLane; ++i) sums[i] = products[i];
#pragma unroll
  for (int bit = 1; bit < kAdjacent; bit *= 2) add_pairs(sums, bit);
#pragma unroll
  for (int i = 0; i < kOfLane; i += kAdjacent) sums[i] = of_lanes(sums[i]);
#pragma unroll
  for (int bit = kAdjacent; bit < kOfLane; bit *= 2) add_pairs(sums, bit);
  return sums[0];
}

// ---- From warp to warp

// Whether the warp is the last of `all` at those words.
QUERN_DEVICE bool arrives_last(u32* words, u32 all) {
  return is_last(words, add_relaxed(threadIdx.x % 32 == 0, words, 1), 1, all);
}

template <class Number>
QUERN_DEVICE void write_number(void* base, i64 at, float value) {
  store<sizeof(Number)>(static_cast<Number*>(base) + at, bit_cast<Vector<sizeof(Number)>>(from_compute<Number>(value)));
}

// A sum for each row. `mine`: of the lane's row in this tile, in the first 16 lanes.
template <class Number>
QUERN_DEVICE void add_row_sums(const TileSums& s, const TilePlace& tile, i64 rows, float mine, void* to) {
  const u32 lane = threadIdx.x % 32;
  const i64 row = tile.row() + lane;
  const bool has_row = lane < kWarpRows && row < rows;
  if (tile.row() >= rows) return;
  float sum = 0.0f + mine;
  if (s.segments > 1) {
    if (has_row) send_sum(s.rows + tile.segment * rows + row, mine);
    if (!arrives_last(s.arrived_rows + tile.row() / kWarpRows, s.segments)) return;
    if (has_row) sum = sum_received(s.rows + row, s.segments, rows);
  }
  if (has_row) write_number<Number>(to, row, sum);
}

// In dynamic shared memory: of each warp, parts of columns; then of each warp its total.
QUERN_DEVICE SharedWords kept() { return SharedWords(0); }

// Where a column lies among them: so neither lanes that have adjacent ones each nor lanes with one each meet in a bank.
QUERN_DEVICE u32 kept_place(u32 column) { return column ^ (column / 32 % 8); }

template <int Parts>
QUERN_DEVICE void keep_sums(const ColumnSums<Parts>& own) {
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kOfLane; ++n) {
    const u32 column = (n / kAdjacent * 32 + lane) * kAdjacent + n % kAdjacent;
#pragma unroll
    for (int part = 0; part < Parts; ++part)
      kept().set((warp * Parts + part) * kTileColumns + kept_place(column), bit_cast<u32>(own.of[part][n]));
  }
}

QUERN_DEVICE float kept_sum(u32 first, u32 pitch) {
  float sums[kWarps];
#pragma unroll
  for (u32 w = 0; w < kWarps; ++w) sums[w] = bit_cast<float>(kept().get(first + w * pitch));
  return pairwise(sums);
}

// A thread has one column.
template <int Parts>
struct Column {
  float of[Parts];
};

template <int Parts>
QUERN_DEVICE Column<Parts> kept_column() {
  Column<Parts> column;
#pragma unroll
  for (int part = 0; part < Parts; ++part)
    column.of[part] = kept_sum(part * kTileColumns + kept_place(threadIdx.x), Parts * kTileColumns);
  return column;
}

// `to`: the column in [parts, width], of a tile or of a chunk.
template <int Parts>
QUERN_DEVICE void send_column(u32* to, int width, const Column<Parts>& column) {
#pragma unroll
  for (int part = 0; part < Parts; ++part) send_sum(to + static_cast<i64>(part) * width, column.of[part]);
}
template <int Parts>
QUERN_DEVICE Column<Parts> column_received(u32* from, int width, i64 count) {
  Column<Parts> column;
#pragma unroll
  for (int part = 0; part < Parts; ++part)
    column.of[part] = sum_received(from + static_cast<i64>(part) * width, count, static_cast<i64>(Parts) * width);
  return column;
}

QUERN_DEVICE u32 of_chunk(i64 all, i64 chunk) {
  const i64 left = all - chunk * kChunkTiles;
  return left < kChunkTiles ? static_cast<u32>(left) : kChunkTiles;
}

// After keep_sums and a barrier. `write_column(number, column)` gets the sums of a column, in one thread of all blocks.
template <int Parts, class Write>
QUERN_DEVICE void add_column_sums(const TileSums& s, const TilePlace& tile, i64 rows, int width,
                                  const Write& write_column) {
  const int number = tile.column() + static_cast<int>(threadIdx.x);
  const bool mine = number < width;
  if (number / 32 * 32 >= width) return;  // a warp without columns
  const i64 tiles = rows == 0 ? 1 : (rows + kTileRows - 1) / kTileRows;
  const i64 chunks = (tiles + kChunkTiles - 1) / kChunkTiles, chunk = tile.tile / kChunkTiles;
  const i64 pitch = static_cast<i64>(Parts) * width;
  u32* const arrived = s.arrived + number / 32 * (chunks + 1);
  Column<Parts> column = {};
  if (mine) send_column(s.tiles + (tile.tile * pitch + number), width, kept_column<Parts>());
  if (!arrives_last(arrived + chunk, of_chunk(tiles, chunk))) return;
  if (mine)
    column = column_received<Parts>(s.tiles + (chunk * kChunkTiles * pitch + number), width, of_chunk(tiles, chunk));
  if (chunks > 1) {
    if (mine) send_column(s.chunks + (chunk * pitch + number), width, column);
    if (!arrives_last(arrived + chunks, static_cast<u32>(chunks))) return;
    if (mine) column = column_received<Parts>(s.chunks + number, width, chunks);
  }
  if (mine) write_column(number, column);
}

// The sum of everything. `first`: the word of shared memory after the columns; `own`: of the warp, in each lane. All
// threads of the block call it. `write_total(sum)` is called in one thread of all blocks.
template <class Write>
QUERN_DEVICE void add_total(const TileSums& s, u32 first, float own, const Write& write_total) {
  if (threadIdx.x % 32 == 0) kept().set(first + threadIdx.x / 32, bit_cast<u32>(own));
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const i64 all = gridDim.x, chunks = (all + kChunkTiles - 1) / kChunkTiles, chunk = blockIdx.x / kChunkTiles;
  u32* const of_chunks = s.total + all;
  u32* const arrived = of_chunks + chunks;
  const bool mine = threadIdx.x == 0;
  float sum = 0;
  if (mine) send_sum(s.total + blockIdx.x, kept_sum(first, 1));
  if (!arrives_last(arrived + chunk, of_chunk(all, chunk))) return;
  if (mine) sum = sum_received(s.total + chunk * kChunkTiles, of_chunk(all, chunk), 1);
  if (chunks > 1) {
    if (mine) send_sum(of_chunks + chunk, sum);
    if (!arrives_last(arrived + chunks, static_cast<u32>(chunks))) return;
    if (mine) sum = sum_received(of_chunks, chunks, 1);
  }
  if (mine) write_total(sum);
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_TILE_SUMS_CUH_
