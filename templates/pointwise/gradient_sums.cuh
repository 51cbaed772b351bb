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

QUERN_DEVICE void finish_row(const KernelParams& p, const Span (&at)[kPieces], const Inputs (&o)[kPieces],
                             const BiasBits (&bias)[kPieces], Sums& sums) {
  float products[kOfLane];
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    Gradients made;
    make_gradients(p, o[k], bias[k], made);
    write_gradients(p, at[k], made);
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int n = k * kElements + i;
      products[n] = at[k].has(i) ? made.products[i] : 0.0f;
      sums.columns.of[0][n] += at[k].has(i) ? made.x[i] : 0.0f;
    }
  }
  if constexpr (spec::multiplier_gradient) sums.total += row_sum(products);
}

QUERN_DEVICE void run_rows(const KernelParams& p, const TilePlace& tile, Sums& sums) {
  constexpr bool kOnce = spec::bias_spread == Spread::row;  // the bias is the same for all rows
  BiasBits bias[spec::unroll][kPieces];
#pragma unroll
  for (int k = 0; k < kPieces && kOnce; ++k) bias[0][k] = read_bias(p, {0, piece_column(tile, k), p.width});
#pragma unroll 1
  for (int first = 0; first < kWarpRows; first += spec::unroll) {
    Inputs operands[spec::unroll][kPieces];
    Span spans[spec::unroll][kPieces];
#pragma unroll
    for (int u = 0; u < spec::unroll; ++u) {
      const i64 row = tile.row() + first + u;
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
        spans[u][k] = {row, piece_column(tile, k), row < p.rows ? p.width : 0};
        read(p, spans[u][k], operands[u][k]);
        if constexpr (!kOnce) bias[u][k] = read_bias(p, spans[u][k]);
      }
    }
#pragma unroll
    for (int u = 0; u < spec::unroll; ++u) finish_row(p, spans[u], operands[u], bias[kOnce ? 0 : u], sums);
  }
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
