// A program with reductions. A team of lanes, or a whole block, has a row at a time: it reads its inputs, finishes the
// reductions along it round by round, and makes the outputs. Sums over the rows are of all rows that a block has,
// and then of all blocks.
#ifndef QUERN_POINTWISE_REDUCTION_CUH_
#define QUERN_POINTWISE_REDUCTION_CUH_

#include "pointwise/output_sums.cuh"
#include "pointwise/row_reductions.cuh"
#include "pointwise/scaled_outputs.cuh"

namespace quern::pointwise {

using OfElement = float[kOutputs];

// ---- The outputs

// The numbers of all outputs that a thread makes of a piece of its s-th segment.
QUERN_DEVICE void make_piece(const KernelParams& p, const TeamRow& row, const Reduced& reduced, Kept& kept, int s,
                             int piece, const SegmentInputs<kInputs>& inputs, Numbers (&numbers)[kOutputs]) {
  for_elements(inputs, row.one, piece, [&](int i, const float(&in)[kInputs]) {
    OfElement out;
    generated::Element::of(p.numbers, in, reduced, kept.of[kHeld ? s : 0][piece * kElements + i], out);
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) numbers[o][i] = out[o];
  });
}

// Of a piece, those that cover all of [rows, width] and have no scales.
template <int O = 0>
QUERN_DEVICE void write_piece(const KernelParams& p, const Span& at, const Numbers (&numbers)[kOutputs]) {
  using T = typename RowOutput<O>::Type;
  if constexpr (RowOutput<O>::kSpread == Spread::full && place_of_scales(O) < 0)
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
  float kept[kKept] = {};
  generated::Element::of(p.numbers, in, reduced, kept, out);
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    if (generated::is_column(o)) write_element(p, o, row.at.row, out[o]);
  }
}

// Of a row whose scale is found first: its outputs, where they take few registers. Else they are made twice.
constexpr bool kHoldsOutputs = kHeld && kHasRowScales && kSegments * kOutputs <= 4;
using HeldOutputs = SegmentNumbers[kHoldsOutputs ? kSegments : 1];

QUERN_DEVICE void find_row_scales(const KernelParams& p, const TeamRow& row, const Reduced& reduced, Kept& kept,
                                  u32& turn, HeldOutputs& outputs, Largest& largest) {
  for_segments(p, row, 0, p.shape.segments, [&](int s, int segment, const SegmentInputs<kInputs>& inputs) {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      auto& numbers = outputs[kHoldsOutputs ? s : 0][piece];
      make_piece(p, row, reduced, kept, s, piece, inputs, numbers);
      raise(has_piece(row.at, segment, piece), numbers, largest);
    }
  });
  share_row(turn, largest);
}

QUERN_DEVICE void make_outputs(const KernelParams& p, const BlockPlace& block, const TeamRow& row,
                               const Reduced& reduced, Kept& kept, u32& turn, OutputSums& sums) {
  Largest largest = {};
  HeldOutputs outputs;
  if constexpr (kHasRowScales) find_row_scales(p, row, reduced, kept, turn, outputs, largest);
  const int first = block.first_segment(), end = p.shape.groups > 1 ? first + 1 : p.shape.segments;
  for_segments(p, row, first, end, [&](int s, int segment, const SegmentInputs<kInputs>& inputs) {
    SegmentNumbers& numbers = outputs[kHoldsOutputs ? s : 0];
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      if constexpr (!kHoldsOutputs) make_piece(p, row, reduced, kept, s, piece, inputs, numbers[piece]);
      const Span at = span_of(row.at, segment, piece);
      write_piece(p, at, numbers[piece]);
      if constexpr (kHasRowScales) write_piece_by_row(p, at, numbers[piece], largest);
      add_piece(has_piece(row.at, segment, piece), numbers[piece], s, piece, sums);
    }
    if constexpr (kScaled > 0 && !kHasRowScales) write_blocks(p, row.at, segment, numbers);
  });
  if (block.group != 0 || !row.at.exists() || lane() != 0 || warp_of_row() != 0) return;
  if constexpr (kHasRowScales) write_row_scales(p, row.at.row, largest);
  if constexpr (spec::has_columns) write_columns(p, row, reduced);
}

// ---- The rows

// Operands of which each row has the same are read once.
QUERN_DEVICE void read_once(const KernelParams& p, const BlockPlace& block, TeamRow& row) {
  if constexpr (kHoldsRowOperands) {
#pragma unroll
    for (int s = 0; s < kSegments; ++s)
      row.segments[s].template read<Spread::row>(p, {0, p.shape.width},
                                                 block.first_segment() + s * kWarps + warp_of_row());
  }
}

QUERN_DEVICE void read_row(const KernelParams& p, const BlockPlace& block, i64 number, TeamRow& row) {
  const bool is_inside = number < p.shape.rows_of_block;
  const i64 of_all = block.chunk * p.shape.rows_of_block + number;
  row.at = {spec::blocked && !is_inside ? -1 : of_all, is_inside && of_all < p.shape.rows ? p.shape.width : -1};
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
      Kept kept;
      reduce_row(p, rows[u], turn, kept, reduced);
      make_outputs(p, block, rows[u], reduced, kept, turn, sums);
      if constexpr (kSums > 0) read_row(p, block, first + step + team() + u * teams(), rows[u]);
    }
    if constexpr (kSums == 0) break;  // the block has no more
  }
  if constexpr (kSums > 0) finish_sums(p, block, sums);
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_REDUCTION_CUH_
