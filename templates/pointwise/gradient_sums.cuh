// pass=backward with the gradients of the bias, the sums of x_gradient's columns, and of the multiplier, one sum.
#include "pointwise/gradient.cuh"
#include "rows/tile_sums.cuh"

namespace quern::pointwise {

constexpr int kColumnParts = spec::bias_gradient ? 1 : 0;

// What a warp has of its tile.
struct Sums {
  ColumnSums<1> columns;
  float total = 0;
};

constexpr bool kBiasOnce = spec::bias_spread == Spread::row;  // the bias is the same for all rows

// What a lane has of a row.
struct Row {
  Span at[kPieces];
  Inputs inputs[kPieces];
  BiasBits bias[kBiasOnce ? 1 : kPieces];
};

QUERN_DEVICE void read_row(const KernelParams& p, const TilePlace& tile, int number, Row& row) {
  const i64 at = tile.row() + number;
  const int end = number < kWarpRows && at < p.rows ? p.width : 0;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    row.at[k] = {at, piece_column(tile, k), end};
    read(p, row.at[k], row.inputs[k]);
    if constexpr (!kBiasOnce) row.bias[k] = read_bias(p, row.at[k]);
  }
}

// What is written of it.
struct Made {
  Span at[kPieces];
  Gradients of[kPieces];
};

QUERN_DEVICE void make_row(const KernelParams& p, const Row& row, const BiasBits (&bias)[kPieces], Made& made,
                           Sums& sums) {
  float products[kOfLane];
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    const Span& at = made.at[k] = row.at[k];
    make_gradients(p, row.inputs[k], kBiasOnce ? bias[k] : row.bias[kBiasOnce ? 0 : k], made.of[k]);
    Numbers x;
    made.of[k].x.values(x);
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int n = k * kElements + i;
      products[n] = at.has(i) ? made.of[k].products[i] : 0.0f;
      sums.columns.of[0][n] += at.has(i) ? x[i] : 0.0f;
    }
  }
  if constexpr (spec::multiplier_gradient) sums.total += row_sum(products);
}

QUERN_DEVICE void run_rows(const KernelParams& p, const TilePlace& tile, Sums& sums) {
  BiasBits bias[kPieces];
#pragma unroll
  for (int k = 0; k < kPieces && kBiasOnce; ++k) bias[k] = read_bias(p, {0, piece_column(tile, k), p.width});
  for_warp_rows<Row, Made>([&](int number, Row& row) { read_row(p, tile, number, row); },
                           [&](int, const Row& row, Made& made) { make_row(p, row, bias, made, sums); },
                           [&](const Made& made) {
#pragma unroll
                             for (int k = 0; k < kPieces; ++k) write_gradients(p, made.at[k], made.of[k]);
                           });
}

QUERN_DEVICE void run(const KernelParams& p) {
  const TilePlace tile = tile_place(p.sums);
  Sums sums;
  run_rows(p, tile, sums);
  if constexpr (spec::bias_gradient) {
    keep_sums(sums.columns);
    __syncthreads();
    add_column_sums<1>(p.sums, tile, p.rows, p.width, [&](int number, const Column<1>& column) {
      write_number<spec::BiasGradient>(p.bias_gradient, number, column.of[0]);
    });
  }
  if constexpr (spec::multiplier_gradient) {
    add_total(p.sums, kColumnParts * kWarps * kTileColumns, sums.total,
              [&](float sum) { write_number<float>(p.multiplier_gradient, 0, sum); });
  }
}

}  // namespace quern::pointwise
