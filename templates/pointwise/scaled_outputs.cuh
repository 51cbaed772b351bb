// Outputs in 8 bits whose scales are made: of blocks of a row, whose columns are in adjacent lanes and pieces of one
// warp, or of whole rows, whose largest magnitudes are one more round.
#ifndef QUERN_POINTWISE_SCALED_OUTPUTS_CUH_
#define QUERN_POINTWISE_SCALED_OUTPUTS_CUH_

#include "common/scaling.cuh"
#include "mx/scale_places.cuh"
#include "pointwise/row_reductions.cuh"

namespace quern::pointwise {

constexpr int kScaled = spec::scaled;  // outputs with scales
constexpr bool kHasRowScales = kScaled > 0 && spec::block_length == 0;
// Columns that share a scale, of those of a segment. A segment of fewer lanes than a warp's is a whole row.
constexpr int kShared = spec::block_length < kColumns ? spec::block_length : kColumns;

using generated::place_of_scales;  // an output's number among those with scales; -1: it has none

// Of the columns that a thread has of a segment.
using SegmentNumbers = Numbers[kPieces][kOutputs];
// As fp32's bits, of each output with scales.
using Largest = u32[kScaled == 0 ? 1 : kScaled];

template <int O>
using ScalingOfOutput =
    typename ScalingOf<spec::scale_format, typename RowOutput<O>::Type, spec::mode, spec::policy>::Type;

QUERN_DEVICE u32 larger(u32 a, u32 b) { return Magnitudes<float>::larger(a, b); }

// Beyond the end of a row are zeros.
QUERN_DEVICE u32 magnitude_of(bool has, const Numbers& numbers) {
  u32 m = 0;
#pragma unroll
  for (int i = 0; i < kElements; ++i) m = larger(m, magnitudes<float, spec::policy>(bit_cast<u32>(numbers[i])));
  return has ? m : 0;
}

template <int Lanes>
QUERN_DEVICE u32 largest_of_lanes(u32 m) {
#pragma unroll
  for (int mask = 1; mask < Lanes; mask *= 2) m = larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  return m;
}

// Of each block of `kShared` columns, in each thread that has some of them.
QUERN_DEVICE void share(u32 (&of_pieces)[kPieces]) {
  constexpr int kLanesOfBlock = kShared / kElements < kLanes ? kShared / kElements : kLanes;
#pragma unroll
  for (u32& m : of_pieces) m = largest_of_lanes<kLanesOfBlock>(m);
#pragma unroll
  for (int step = 1; step < kShared / (kElements * kLanes); step *= 2) {
    u32 others[kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) others[i] = of_pieces[i ^ step];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) of_pieces[i] = larger(of_pieces[i], others[i]);
  }
}

// ---- Whole rows

// A row's, of the numbers of each piece.
QUERN_DEVICE void raise(bool has, const Numbers (&numbers)[kOutputs], Largest& largest) {
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    if (place_of_scales(o) < 0) continue;
    largest[place_of_scales(o)] = larger(largest[place_of_scales(o)], magnitude_of(has, numbers[o]));
  }
}

// In turn with those of the next row, as the reductions' are.
QUERN_SHARED(u32, largest_of_warps, 2 * (kScaled == 0 ? 1 : kScaled) * kWarps);

QUERN_DEVICE void share_row(u32& turn, Largest& largest) {
#pragma unroll
  for (u32& m : largest) m = largest_of_lanes<kLanes>(m);
  if constexpr (kWarps > 1) {
    const int first = static_cast<int>(turn) * kScaled * kWarps;
    turn ^= 1;
#pragma unroll
    for (int i = 0; i < kScaled; ++i) {
      if (lane() == 0) largest_of_warps.set(first + i * kWarps + warp_of_row(), largest[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kScaled; ++i) {
      const u32 m = lane() < kWarps ? largest_of_warps.get(first + i * kWarps + lane()) : 0;
      largest[i] = largest_of_lanes<32>(m);
    }
  }
}

// ---- Stores

template <int O>
QUERN_DEVICE void store_scale(const KernelParams& p, bool wanted, i64 at, u32 scale) {
  using Stored = Vector<ScalingOfOutput<O>::kBytes>;
  u8* const scales = static_cast<u8*>(p.operands[spec::inputs + kOutputs + place_of_scales(O)]);
  store_if<ScalingOfOutput<O>::kBytes>(wanted, scales + at * ScalingOfOutput<O>::kBytes,
                                       Stored{{static_cast<typename Stored::Word>(scale)}});
}

// By the thread that has the block's first columns. The rows and blocks of blocked scales' padding have scales, too:
// those of zeros.
template <int O>
QUERN_DEVICE void write_block_scale(const KernelParams& p, const RowPlace& at, u32 column, u32 scale) {
  constexpr u32 kLength = spec::block_length == 0 ? 1 : spec::block_length;
  const u32 block = column / kLength, blocks = (static_cast<u32>(p.shape.width) + kLength - 1) / kLength;
  const bool has_row = spec::blocked ? at.row >= 0 && at.row < p.shape.rows_with_scales : at.exists();
  const bool has_block = spec::whole || block < (spec::blocked ? (blocks + 3) / 4 * 4 : blocks);
  const i64 place = spec::blocked ? mx::blocked_offset(at.row, block, blocks) : at.row * blocks + block;
  store_scale<O>(p, has_row && has_block && column % kLength == 0, place, scale);
}

template <int O>
QUERN_DEVICE void write_by_scale(const KernelParams& p, const Span& at, const Numbers& numbers, u32 scale) {
  using T = typename RowOutput<O>::Type;
  const float factor = ScalingOfOutput<O>::reciprocal(scale);
  Numbers scaled;
#pragma unroll
  for (int i = 0; i < kElements; ++i) scaled[i] = numbers[i] * factor;
  rows::write<T>(static_cast<T*>(RowOutput<O>::base(p)) + at.row * p.shape.width, at, scaled);
}

// Of a segment, the outputs whose blocks have scales.
template <int O = 0>
QUERN_DEVICE void write_blocks(const KernelParams& p, const RowPlace& at, int segment, const SegmentNumbers& numbers) {
  if constexpr (place_of_scales(O) >= 0) {
    u32 largest[kPieces];
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece)
      largest[piece] = magnitude_of(has_piece(at, segment, piece), numbers[piece][O]);
    share(largest);
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const u32 scale = ScalingOfOutput<O>::stored(largest[piece]);
      write_block_scale<O>(p, at, static_cast<u32>(column_of(segment, piece)), scale);
      write_by_scale<O>(p, span_of(at, segment, piece), numbers[piece][O], scale);
    }
  }
  if constexpr (O + 1 < kOutputs) write_blocks<O + 1>(p, at, segment, numbers);
}

// Of a piece, the outputs whose rows have scales.
template <int O = 0>
QUERN_DEVICE void write_piece_by_row(const KernelParams& p, const Span& at, const Numbers (&numbers)[kOutputs],
                                     const Largest& of_row) {
  if constexpr (place_of_scales(O) >= 0)
    write_by_scale<O>(p, at, numbers[O], ScalingOfOutput<O>::stored(of_row[place_of_scales(O)]));
  if constexpr (O + 1 < kOutputs) write_piece_by_row<O + 1>(p, at, numbers, of_row);
}

// In one thread of the row.
template <int O = 0>
QUERN_DEVICE void write_row_scales(const KernelParams& p, i64 row, const Largest& of_row) {
  if constexpr (place_of_scales(O) >= 0)
    store_scale<O>(p, true, row, ScalingOfOutput<O>::stored(of_row[place_of_scales(O)]));
  if constexpr (O + 1 < kOutputs) write_row_scales<O + 1>(p, row, of_row);
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_SCALED_OUTPUTS_CUH_
