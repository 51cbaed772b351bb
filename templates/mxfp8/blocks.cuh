// What all forms share: types and numerics of the spec, and where scales go.
#ifndef QUERN_MXFP8_BLOCKS_CUH_
#define QUERN_MXFP8_BLOCKS_CUH_

#include "common/scaling.cuh"
#include "mx/scale_places.cuh"
#include "spec.cuh"

namespace quern::mxfp8 {

using namespace common;
using namespace mx;
using Source = spec::Source;
using Element = spec::Element;

constexpr int kBlock = spec::block_length;  // elements that share a scale
constexpr bool kWholeAtoms =
    spec::blocked || spec::padded;  // a matrix has memory for 128 lines and 4 blocks, or multiples
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

using Magnitude = Magnitudes<Source>;

QUERN_DEVICE u32 magnitudes_of(u32 word) { return magnitudes<Source, spec::policy>(word); }

using Scaling = ScalingOf<spec::scale_format, Element, spec::mode, spec::policy>::Type;
constexpr int kScaleBytes = Scaling::kBytes;
using Scale = Vector<kScaleBytes>;  // as it is stored

// Of a folded magnitude.
QUERN_DEVICE u32 stored_scale(u32 magnitude) { return Scaling::stored(Magnitude::as_fp32(magnitude)); }

QUERN_DEVICE Scale scale_vector(u32 stored) { return {{static_cast<Scale::Word>(stored)}}; }

// The caller's scale for everything.
QUERN_DEVICE float given_reciprocal(const Params& p) { return 1.0f / bit_cast<float>(load<4>(p.given_scale)); }

// Elements from a line of an output to the next. `P`: of a form.
template <class P>
QUERN_DEVICE i64 row_pitch(const P& p) {
  if constexpr (spec::out_strides) {
    return p.row_pitch;
  } else {
    return p.cols;
  }
}
// `transposed`: lines are columns.
template <class P>
QUERN_DEVICE i64 col_pitch(const P& p, bool transposed) {
  if constexpr (spec::out_strides) {
    return p.col_pitch;
  } else {
    return transposed ? p.rows : p.cols;
  }
}

// The elements of a vector, scaled.
template <int N>
QUERN_DEVICE Vector<N> quantize(const Vector<N* static_cast<int>(sizeof(Source))>& vector, float reciprocal) {
  return scaled_to<Element, Source, N>(vector, reciprocal);
}

// Plain or padded scales: the memory of a line's blocks, and of a block's lines, in scales.
QUERN_DEVICE i64 room_of_blocks(i64 blocks) { return spec::padded ? round_up(blocks, 4) : blocks; }
QUERN_DEVICE i64 room_of_lines(i64 lines) { return spec::padded ? round_up(lines, 128) : lines; }

// Writes the scales of adjacent blocks of a line: one, or as many as are contiguous. `scales`: of one matrix. A line is
// divided into blocks: a row, or a column. `block_major`: the scales of all lines' first blocks come first.
template <bool kBlockMajor, int kBytes>
QUERN_DEVICE void store_scales(u8* scales, i64 line, i64 block, i64 lines, i64 blocks, const Vector<kBytes>& bytes) {
  i64 at;
  if constexpr (spec::blocked) {
    if (line >= round_up(lines, 128) || block >= round_up(blocks, 4)) return;
    at = blocked_offset(line, block, blocks);
  } else {
    if (line >= lines || block >= blocks) return;
    at = kBlockMajor ? block * room_of_lines(lines) + line : line * room_of_blocks(blocks) + block;
  }
  store<kBytes>(scales + at * kScaleBytes, bytes);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_BLOCKS_CUH_
