// Gradients of x, bias and scale in one launch; that of the bias has the sums of what x_gradient gets.
#include "glu/elements.cuh"
#include "rows/tile_sums.cuh"

namespace quern::glu {

QUERN_DEVICE Span piece_place(const Params& p, const TilePlace& tile, i64 row, int piece) {
  return {row, piece_column(tile, piece), row < p.rows && is_counted(p, row) ? p.width : 0};
}

// Writes the gradients of a row, adds them to the columns' sums, and returns the row's.
QUERN_DEVICE float finish_row(const Params& p, const Span (&at)[kPieces], const Operands (&o)[kPieces],
                              const BiasBits (&bias)[kPieces], ColumnSums<2>& sums) {
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
      sums.of[0][n] += at[k].has(i) ? round_to<T>(made.a[i]) : 0.0f;
      sums.of[1][n] += at[k].has(i) ? round_to<T>(made.g[i]) : 0.0f;
    }
  }
  if constexpr (!spec::has_scale) return 0;
  return row_sum(products);
}

// The warp's rows. Each lane below 16 gets the sum of one of them.
QUERN_DEVICE float run_rows(const Params& p, const TilePlace& tile, ColumnSums<2>& sums) {
  float mine = 0;
  BiasBits bias[kPieces];
#pragma unroll
  for (int k = 0; k < kPieces; ++k) bias[k] = read_bias(p, {0, piece_column(tile, k), p.width});
#pragma unroll 1
  for (int first = 0; first < kWarpRows; first += spec::unroll) {
    Operands operands[spec::unroll][kPieces];
    Span places[spec::unroll][kPieces];
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

QUERN_DEVICE void write_bias_gradient(const Params& p, int number, const Column<2>& column) {
  const Columns to = columns_at<kBiasLayout>(p, number);
  write_number<spec::BiasGradient>(p.bias_gradient, to.a, column.of[0]);
  write_number<spec::BiasGradient>(p.bias_gradient, to.g, column.of[1]);
}

QUERN_DEVICE void run(const Params& p) {
  const TilePlace tile = tile_place(p.sums);
  ColumnSums<2> sums;
  const float row = run_rows(p, tile, sums);
  if constexpr (spec::has_scale) add_row_sums<spec::Scale>(p.sums, tile, p.rows, row, p.scale_gradient);
  if constexpr (spec::bias_gradient) {
    keep_sums(sums);
    __syncthreads();
    add_column_sums<2>(p.sums, tile, p.rows, p.width,
                       [&](int number, const Column<2>& column) { write_bias_gradient(p, number, column); });
  }
}

}  // namespace quern::glu
