// Gradients of x, bias and scale in one launch. That of the bias has the sums of what x_gradient gets. A thread block
// has a tile of 128 rows and 256 columns, a warp 16 rows of it. The sums are in the same order for every config and
// every number of blocks: of a column 16 rows in sequence, two such sums, four of these in pairs, up to 32 tiles in
// sequence, and all of these in sequence; of a row 256 columns as a tree, those first whose numbers differ in bit 0,
// then in bit 1, and so on, and tiles in sequence.
//
// The last warp to arrive at a part of the sums continues with it. The others have sent theirs by then, but they may
// not have arrived, so it waits for each; that needs no other block to run.
#include "common/sent_sums.cuh"
#include "common/shared.cuh"
#include "glu/elements.cuh"

namespace quern::glu {

constexpr int kWarps = kTileThreads / 32;
constexpr int kWarpRows = kTileRows / kWarps;
constexpr int kOfLane = kTileColumns / 32;
constexpr int kPieces = kOfLane / kElements;  // of a lane in a row: one access each
static_assert(kPieces * kElements == kOfLane, "a lane has eight elements of a row");
static_assert(kWarps == 8 && kWarpRows == 16, "the order of the sums");

struct TilePlace {
  u32 tile;     // from the top
  u32 segment;  // from the left
  QUERN_DEVICE i64 row() const { return static_cast<i64>(tile) * kTileRows + threadIdx.x / 32 * kWarpRows; }
  QUERN_DEVICE int column() const { return static_cast<int>(segment) * kTileColumns; }
};

QUERN_DEVICE TilePlace tile_place(const Params& p) {
  const u32 tile = divide32(blockIdx.x, p.sums.by_segments);
  return {tile, blockIdx.x - tile * p.sums.segments};
}

// The pieces of all lanes lie side by side. Where a piece is elements 32 apart, the lane has one.
QUERN_DEVICE int piece_column(const TilePlace& tile, int piece) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return tile.column() + (spec::vectors ? (piece * 32 + lane) * kElements : lane);
}
QUERN_DEVICE Place piece_place(const Params& p, const TilePlace& tile, i64 row, int piece) {
  return {row, piece_column(tile, piece), row < p.rows && is_counted(p, row) ? p.width : 0};
}

// ---- Sums of a thread

struct ColumnSums {
  float a[kOfLane] = {};
  float g[kOfLane] = {};
};

QUERN_DEVICE float pairwise(const float (&x)[kOfLane]) {
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

// Adjacent columns of a lane.
constexpr int kAdjacent = spec::vectors ? kElements : 1;

// Of the 256 columns: a lane's adjacent ones, then those of all lanes, then what is left of a lane.
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

// Writes the gradients of a row, adds them to the columns' sums, and returns the row's.
QUERN_DEVICE float finish_row(const Params& p, const Place (&at)[kPieces], const Operands (&o)[kPieces],
                              const BiasBits (&bias)[kPieces], ColumnSums& sums) {
  float products[kOfLane];
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    Gradients made;
    make_gradients(p, o[k], bias[k], made);
    write_gradients<T>(p, at[k], made);
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int n = k * kElements + i;
      products[n] = at[k].has(i) ? made.products[i] : 0.0f;
      sums.a[n] += at[k].has(i) ? round_to<T>(made.a[i]) : 0.0f;
      sums.g[n] += at[k].has(i) ? round_to<T>(made.g[i]) : 0.0f;
    }
  }
  if constexpr (!spec::has_scale) return 0;
  return row_sum(products);
}

// The warp's rows. Each lane below 16 gets the sum of one of them.
QUERN_DEVICE float run_rows(const Params& p, const TilePlace& tile, ColumnSums& sums) {
  float mine = 0;
  BiasBits bias[kPieces];
#pragma unroll
  for (int k = 0; k < kPieces; ++k) bias[k] = read_bias(p, {0, piece_column(tile, k), p.width});
#pragma unroll 1
  for (int first = 0; first < kWarpRows; first += spec::unroll) {
    Operands operands[spec::unroll][kPieces];
    Place places[spec::unroll][kPieces];
#pragma unroll
    for (int u = 0; u < spec::unroll; ++u) {
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
        places[u][k] = piece_place(p, tile, tile.row() + first + u, k);
        read(p, places[u][k], operands[u][k]);
      }
    }
#pragma unroll
    for (int u = 0; u < spec::unroll; ++u) {
      const float sum = finish_row(p, places[u], operands[u], bias, sums);
      if (static_cast<int>(threadIdx.x % 32) == first + u) mine = sum;
    }
  }
  return mine;
}

// ---- Rows: from tile to tile

// Whether the warp is the last of `all` at those words.
QUERN_DEVICE bool arrives_last(u32* words, u32 all) {
  return is_last(words, add_relaxed(threadIdx.x % 32 == 0, words, 1), 1, all);
}

template <class Number>
QUERN_DEVICE void write_number(void* base, i64 at, float value) {
  store<sizeof(Number)>(static_cast<Number*>(base) + at, bit_cast<Vector<sizeof(Number)>>(from_compute<Number>(value)));
}

// `mine`: of the lane's row in this tile.
QUERN_DEVICE void add_row_sums(const Params& p, const TilePlace& tile, float mine) {
  const u32 lane = threadIdx.x % 32;
  const i64 row = tile.row() + lane;
  const bool has_row = lane < kWarpRows && row < p.rows;
  if (tile.row() >= p.rows) return;
  float sum = 0.0f + mine;
  if (p.sums.segments > 1) {
    if (has_row) send_sum(p.sums.rows + tile.segment * p.rows + row, mine);
    if (!arrives_last(p.sums.arrived_rows + tile.row() / kWarpRows, p.sums.segments)) return;
    if (has_row) sum = sum_received(p.sums.rows + row, p.sums.segments, p.rows);
  }
  if (has_row) write_number<spec::Scale>(p.scale_gradient, row, sum);
}

// ---- Columns: from warp to warp, then from tile to tile. A thread has one column of a and of g.

// In dynamic shared memory: of each warp, columns of a and of g.
QUERN_DEVICE SharedWords kept() { return SharedWords(0); }

QUERN_DEVICE void keep_sums(const ColumnSums& own) {
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kOfLane; ++n) {
    const u32 column = (n / kAdjacent * 32 + lane) * kAdjacent + n % kAdjacent;
    const u32 at = warp * 2 * kTileColumns + column;
    kept().set(at, bit_cast<u32>(own.a[n]));
    kept().set(at + kTileColumns, bit_cast<u32>(own.g[n]));
  }
}

// The sums of a column of a and of g.
struct Both {
  float a;
  float g;
};

QUERN_DEVICE float kept_sum(u32 first) {
  float sums[kWarps];
#pragma unroll
  for (u32 w = 0; w < kWarps; ++w) sums[w] = bit_cast<float>(kept().get(first + w * 2 * kTileColumns));
  return pairwise(sums);
}
QUERN_DEVICE Both kept_sums() { return {kept_sum(threadIdx.x), kept_sum(kTileColumns + threadIdx.x)}; }

// In [tiles or chunks, 2, width].
QUERN_DEVICE void send_both(const Params& p, u32* sums, i64 number, int column, const Both& both) {
  u32* const to = sums + (2 * number * p.width + column);
  send_sum(to, both.a);
  send_sum(to + p.width, both.g);
}
QUERN_DEVICE Both both_received(const Params& p, u32* sums, i64 first, i64 count, int column) {
  u32* const from = sums + (2 * first * p.width + column);
  return {sum_received(from, count, i64{2} * p.width), sum_received(from + p.width, count, i64{2} * p.width)};
}

QUERN_DEVICE void write_bias_gradient(const Params& p, int column, const Both& both) {
  const Columns to = columns_at<kBiasLayout>(p, column);
  write_number<spec::BiasGradient>(p.bias_gradient, to.a, both.a);
  write_number<spec::BiasGradient>(p.bias_gradient, to.g, both.g);
}

QUERN_DEVICE void add_column_sums(const Params& p, const TilePlace& tile) {
  const int column = tile.column() + static_cast<int>(threadIdx.x);
  const bool mine = column < p.width;
  if (column / 32 * 32 >= p.width) return;  // a warp without columns
  const i64 tiles = p.rows == 0 ? 1 : (p.rows + kTileRows - 1) / kTileRows;
  const i64 chunks = (tiles + kChunkTiles - 1) / kChunkTiles, chunk = tile.tile / kChunkTiles;
  const i64 left = tiles - chunk * kChunkTiles, of_chunk = left < kChunkTiles ? left : kChunkTiles;
  u32* const arrived = p.sums.arrived + column / 32 * (chunks + 1);
  Both both = {};
  if (mine) send_both(p, p.sums.tiles, tile.tile, column, kept_sums());
  if (!arrives_last(arrived + chunk, static_cast<u32>(of_chunk))) return;
  if (mine) both = both_received(p, p.sums.tiles, chunk * kChunkTiles, of_chunk, column);
  if (chunks > 1) {
    if (mine) send_both(p, p.sums.chunks, chunk, column, both);
    if (!arrives_last(arrived + chunks, static_cast<u32>(chunks))) return;
    if (mine) both = both_received(p, p.sums.chunks, 0, chunks, column);
  }
  if (mine) write_bias_gradient(p, column, both);
}

QUERN_DEVICE void run(const Params& p) {
  const TilePlace tile = tile_place(p);
  ColumnSums sums;
  const float row = run_rows(p, tile, sums);
  if constexpr (spec::has_scale) add_row_sums(p, tile, row);
  if constexpr (spec::bias_gradient) {
    keep_sums(sums);
    __syncthreads();
    add_column_sums(p, tile);
  }
}

}  // namespace quern::glu
