// Gradients of x, bias and scale in one launch; that of the bias has the sums of what x_gradient gets.
#include "glu/elements.cuh"
#include "rows/tile_sums.cuh"

namespace quern::glu {

using KernelParams = Params;

// What a lane has of a row.
struct Row {
  Span at[kPieces];
  Operands operands[kPieces];
};

QUERN_DEVICE void read_row(const Params& p, const TilePlace& tile, int number, Row& row) {
  const i64 at = tile.row() + number;
  const int end = number < kWarpRows && at < p.rows && is_counted(p, at) ? p.width : 0;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    row.at[k] = {at, piece_column(tile, k), end};
    read(p, row.at[k], row.operands[k]);
  }
}

// What is written of it.
struct Made {
  Span at[kPieces];
  Pairs<T, kLayout> gradients[kPieces];
  Single<T> out[kPieces];
};

// What a warp has of its tile.
struct Sums {
  ColumnSums<2> columns;
  float row = 0;  // in each lane below 16 the sum of one row's products
};

// The gradients of a piece, and their sums, as they are stored.
QUERN_DEVICE void make_piece(const Params& p, const Row& row, int k, const BiasBits& bias, Made& made, Sums& sums,
                             float (&products)[kOfLane]) {
  Gradients gradients;
  make_gradients(p, row.operands[k], bias, gradients);
  made.at[k] = row.at[k];
  made.gradients[k] = Pairs<T, kLayout>::of(gradients.a, gradients.g);
  if constexpr (spec::recompute) made.out[k] = Single<T>::of(gradients.out);
  Numbers a, g;
  made.gradients[k].values(a, g);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const int n = k * kElements + i;
    products[n] = row.at[k].has(i) ? gradients.products[i] : 0.0f;
    sums.columns.of[0][n] += row.at[k].has(i) ? a[i] : 0.0f;
    sums.columns.of[1][n] += row.at[k].has(i) ? g[i] : 0.0f;
  }
}

QUERN_DEVICE void make_row(const Params& p, int number, const Row& row, const BiasBits (&bias)[kPieces], Made& made,
                           Sums& sums) {
  float products[kOfLane];
#pragma unroll
  for (int k = 0; k < kPieces; ++k) make_piece(p, row, k, bias[k], made, sums, products);
  if constexpr (spec::has_scale) {
    const float sum = row_sum(products);
    if (static_cast<int>(threadIdx.x % 32) == number) sums.row = sum;
  }
}

QUERN_DEVICE void write_row(const Params& p, const Made& made) {
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    write_pairs<T>(p, made.at[k], made.gradients[k]);
    if constexpr (spec::recompute) made.out[k].write(row_of<T>(p.out, p.out_stride, made.at[k]), made.at[k]);
  }
}

QUERN_DEVICE void run_rows(const Params& p, const TilePlace& tile, Sums& sums) {
  BiasBits bias[kPieces];
#pragma unroll
  for (int k = 0; k < kPieces; ++k) bias[k] = read_bias(p, {0, piece_column(tile, k), p.width});
  for_warp_rows<Row, Made>([&](int number, Row& row) { read_row(p, tile, number, row); },
                           [&](int number, const Row& row, Made& made) { make_row(p, number, row, bias, made, sums); },
                           [&](const Made& made) { write_row(p, made); });
}

QUERN_DEVICE void write_bias_gradient(const Params& p, int number, const Column<2>& column) {
  const Columns to = columns_at<kBiasLayout>(p, number);
  write_number<spec::BiasGradient>(p.bias_gradient, to.a, column.of[0]);
  write_number<spec::BiasGradient>(p.bias_gradient, to.g, column.of[1]);
}

QUERN_DEVICE void run(const KernelParams& p) {
  const TilePlace tile = tile_place(p.sums);
  Sums sums;
  run_rows(p, tile, sums);
  if constexpr (spec::has_scale) add_row_sums<spec::Scale>(p.sums, tile, p.rows, sums.row, p.scale_gradient);
  if constexpr (spec::bias_gradient) {
    keep_sums(sums.columns);
    __syncthreads();
    add_column_sums<2>(p.sums, tile, p.rows, p.width,
                       [&](int number, const Column<2>& column) { write_bias_gradient(p, number, column); });
  }
}

}  // namespace quern::glu
