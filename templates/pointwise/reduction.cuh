// A program with reductions. A team of lanes, or a whole block, has a row at a time: it reads its inputs, finishes the
// reductions along it round by round, and makes the outputs. Sums over the rows are of all rows that a block has,
// and then of all blocks.
#ifndef QUERN_POINTWISE_REDUCTION_CUH_
#define QUERN_POINTWISE_REDUCTION_CUH_

#include "pointwise/output_sums.cuh"
#include "pointwise/row_reductions.cuh"

namespace quern::pointwise {

using OfElement = float[kOutputs];

// ---- The outputs

// Of a piece, those that cover all of [rows, width].
template <int O = 0>
QUERN_DEVICE void write_piece(const KernelParams& p, const Span& at, const Numbers (&numbers)[kOutputs]) {
  using T = typename RowOutput<O>::Type;
  if constexpr (RowOutput<O>::kSpread == Spread::full)
    rows::write<T>(static_cast<T*>(RowOutput<O>::base(p)) + at.row * p.shape.width, at, numbers[O]);
  if constexpr (O + 1 < kOutputs) write_piece<O + 1>(p, at, numbers);
}
// Those that are sums.
QUERN_DEVICE void add_piece(bool has, const Numbers (&numbers)[kOutputs], int s, int piece, OutputSums& sums) {
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    if (sum_of(o) < 0) continue;
#pragma unroll
    for (int i = 0; i < kElements; ++i) sums.of[sum_of(o)][s][piece * kElements + i] += has ? numbers[o][i] : 0.0f;
  }
}

// Those that have one number a row, in one thread of the row.
QUERN_DEVICE void write_columns(const KernelParams& p, const TeamRow& row, const Reduced& reduced) {
  float in[kInputs] = {};
  row.one.numbers(in);
  OfElement out;
  generated::Element::of(p.numbers, in, reduced, out);
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    if (generated::is_column(o)) write_element(p, o, row.at.row, out[o]);
  }
}

QUERN_DEVICE void make_outputs(const KernelParams& p, const BlockPlace& block, const TeamRow& row,
                               const Reduced& reduced, OutputSums& sums) {
  const int first = block.first_segment(), end = p.shape.groups > 1 ? first + 1 : p.shape.segments;
  for_segments(p, row, first, end, [&](int s, int segment, const SegmentInputs<kInputs>& inputs) {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      Numbers numbers[kOutputs];
      for_elements(inputs, row.one, piece, [&](int i, const float(&in)[kInputs]) {
        OfElement out;
        generated::Element::of(p.numbers, in, reduced, out);
#pragma unroll
        for (int o = 0; o < kOutputs; ++o) numbers[o][i] = out[o];
      });
      const Span at = span_of(row.at, segment, piece);
      write_piece(p, at, numbers);
      add_piece(at.has(0), numbers, s, piece, sums);
    }
  });
  if constexpr (spec::has_columns) {
    if (block.group == 0 && row.at.exists() && lane() == 0 && warp_of_row() == 0) write_columns(p, row, reduced);
  }
}

// ---- The rows

// Operands of which each row has the same are read once.
QUERN_DEVICE void read_once(const KernelParams& p, const BlockPlace& block, TeamRow& row) {
  if constexpr (kHeld) {
#pragma unroll
    for (int s = 0; s < kSegments; ++s)
      row.segments[s].template read<Spread::row>(p, {0, p.shape.width},
                                                 block.first_segment() + s * kWarps + warp_of_row());
  }
}

QUERN_DEVICE void read_row(const KernelParams& p, const BlockPlace& block, i64 number, TeamRow& row) {
  const bool exists = number < p.shape.rows_of_block && block.chunk * p.shape.rows_of_block + number < p.shape.rows;
  row.at = {block.chunk * p.shape.rows_of_block + number, exists ? p.shape.width : -1};
  row.one.read(p, row.at);
  if constexpr (kHeld) {
#pragma unroll
    for (int s = 0; s < kSegments; ++s)
      row.segments[s].template read<Spread::full>(p, row.at, block.first_segment() + s * kWarps + warp_of_row());
  }
}

// A team's rows; the next spec::unroll of them are on their way.
QUERN_DEVICE void run(const KernelParams& p) {
  const BlockPlace block = block_place(p);
  OutputSums sums;
  TeamRow rows[spec::unroll];
  u32 turn = 0;
  read_once(p, block, rows[0]);
#pragma unroll
  for (int u = 1; u < spec::unroll; ++u) rows[u] = rows[0];
#pragma unroll
  for (int u = 0; u < spec::unroll; ++u) read_row(p, block, team() + u * teams(), rows[u]);
  const i64 step = static_cast<i64>(spec::unroll) * teams();
#pragma unroll 1
  for (i64 first = 0; first < p.shape.rows_of_block; first += step) {
#pragma unroll
    for (int u = 0; u < spec::unroll; ++u) {
      Reduced reduced = {};
      reduce_row(p, rows[u], turn, reduced);
      make_outputs(p, block, rows[u], reduced, sums);
      if constexpr (kSums > 0) read_row(p, block, first + step + team() + u * teams(), rows[u]);
    }
    if constexpr (kSums == 0) break;  // the block has no more
  }
  if constexpr (kSums > 0) finish_sums(p, block, sums);
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_REDUCTION_CUH_
