// What a thread reads of a row, of a program with reductions. A row is cut into segments; of a segment a lane has eight
// elements, as pieces of adjacent ones, and adjacent lanes have adjacent pieces. A team has a row at a time: some lanes
// of a warp, which have all segments, or all warps of a block, of which each has every kWarps-th segment.
#ifndef QUERN_POINTWISE_ROW_INPUTS_CUH_
#define QUERN_POINTWISE_ROW_INPUTS_CUH_

#include "generated/program.cuh"
#include "pointwise/params.h"
#include "rows/elements.cuh"

namespace quern::pointwise {

using namespace common;
using rows::kElements;
using rows::Numbers;
using rows::Single;
using rows::Span;

using KernelParams = ReductionParams<spec::inputs + spec::outputs + spec::scaled, spec::numbers>;

constexpr int kInputs = spec::inputs == 0 ? 1 : spec::inputs;  // without any, one that is absent
constexpr int kOutputs = spec::outputs;
constexpr int kLanes = spec::lanes;        // of a warp, that have a row together
constexpr int kWarps = spec::warps;        // that have a row together; if several, all of a block
constexpr int kSegments = spec::segments;  // of a row, that a thread has in registers
constexpr int kOfLane = 8;                 // elements of a segment
constexpr int kPieces = kOfLane / kElements;
constexpr int kColumns = kOfLane * kLanes;  // of a segment
static_assert(kPieces * kElements == kOfLane, "a lane has eight elements of a segment");
static_assert(kWarps == 1 || kLanes == 32, "warps that share a row are whole");

template <int I>
struct RowInput : generated::Input<I> {
  QUERN_DEVICE static const void* base(const KernelParams& p) { return p.operands[I]; }
};
template <int O>
struct RowOutput : generated::Output<O> {
  QUERN_DEVICE static void* base(const KernelParams& p) { return p.operands[spec::inputs + O]; }
};

QUERN_DEVICE int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
QUERN_DEVICE int warp_of_row() { return kWarps == 1 ? 0 : static_cast<int>(threadIdx.x / 32); }
// Teams of the block, and this thread's.
QUERN_DEVICE int teams() { return kWarps == 1 ? static_cast<int>(blockDim.x) / kLanes : 1; }
QUERN_DEVICE int team() { return kWarps == 1 ? static_cast<int>(threadIdx.x) / kLanes : 0; }

// The first column of a piece, and its place in the segment.
QUERN_DEVICE int column_in_segment(int piece) { return (piece * kLanes + lane()) * kElements; }
QUERN_DEVICE int column_of(int segment, int piece) { return segment * kColumns + column_in_segment(piece); }

// A row of the matrix, which may be after the last.
struct RowPlace {
  i64 row;  // with blocked scales -1: none of the block's
  int end;  // the width; -1 after the last row
  QUERN_DEVICE bool exists() const { return end >= 0; }
};
QUERN_DEVICE Span span_of(const RowPlace& at, int segment, int piece) {
  return {at.row, column_of(segment, piece), at.end};
}
// Whether a piece is inside the row. All those of a row that exists are where its segments are whole.
QUERN_DEVICE bool has_piece(const RowPlace& at, int segment, int piece) {
  return spec::whole ? at.exists() : span_of(at, segment, piece).has(0);
}

// Of a segment: an operand's bits, if it has elements of its own there.
template <class T, Spread S>
struct Pieces {
  QUERN_DEVICE void read(const T*, const Span&, int) {}
  QUERN_DEVICE void numbers(int, Numbers&) const {}
};
// Opaque: else the compiler unpacks them once, before the loop over rows or before the first round, and what is
// unpacked takes twice as many registers until the outputs are made.
template <class T>
QUERN_DEVICE void unpack_here(Single<T> single, Numbers& out) {
  if constexpr (Single<T>::kBytes >= 4) {
#pragma unroll
    for (u32& word : single.bits.w) word = opaque(word);
  }
  single.values(out);
}
template <class T>
struct Pieces<T, Spread::full> {
  Single<T> of[kPieces];
  QUERN_DEVICE void read(const T* row, const Span& at, int piece) { of[piece].read(row, at); }
  QUERN_DEVICE void numbers(int piece, Numbers& out) const { unpack_here(of[piece], out); }
};
template <class T>
struct Pieces<T, Spread::row> {
  Single<T> of[kPieces];
  QUERN_DEVICE void read(const T* row, const Span& at, int piece) { of[piece].template read<LoadHint::keep>(row, at); }
  QUERN_DEVICE void numbers(int piece, Numbers& out) const { unpack_here(of[piece], out); }
};

// Of a row: the one number of an operand that has one for all columns.
template <class T, Spread S>
struct One {
  QUERN_DEVICE void read(const T*, const RowPlace&) {}
  QUERN_DEVICE void number(float&) const {}
};
template <class T>
struct One<T, Spread::column> {
  Vector<sizeof(T)> bits;
  QUERN_DEVICE void read(const T* base, const RowPlace& at) { bits = load_if<sizeof(T)>(at.exists(), base + at.row); }
  QUERN_DEVICE void number(float& out) const { out = to_compute(bit_cast<T>(bits)); }
};
template <class T>
struct One<T, Spread::scalar> {
  Vector<sizeof(T)> bits;
  QUERN_DEVICE void read(const T* base, const RowPlace& at) { bits = load_if<sizeof(T)>(at.exists(), base); }
  QUERN_DEVICE void number(float& out) const { out = to_compute(bit_cast<T>(bits)); }
};

// Those of the first N inputs.
template <int N>
struct SegmentInputs {
  using Last = RowInput<N - 1>;
  using T = typename Last::Type;
  SegmentInputs<N - 1> before;
  Pieces<T, Last::kSpread> last;

  // Operands of all of [rows, width], or those of which each row has the same.
  template <Spread Which>
  QUERN_DEVICE void read(const KernelParams& p, const RowPlace& at, int segment) {
    before.template read<Which>(p, at, segment);
    if constexpr (Last::kSpread == Which) {
      const T* const row = static_cast<const T*>(Last::base(p)) + (Which == Spread::full ? at.row * p.shape.width : 0);
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) last.read(row, span_of(at, segment, piece), piece);
    }
  }
  template <int All>
  QUERN_DEVICE void numbers(int piece, Numbers (&out)[All]) const {
    before.numbers(piece, out);
    last.numbers(piece, out[N - 1]);
  }
};
template <>
struct SegmentInputs<0> {
  template <Spread>
  QUERN_DEVICE void read(const KernelParams&, const RowPlace&, int) {}
  template <int All>
  QUERN_DEVICE void numbers(int, Numbers (&)[All]) const {}
};

template <int N>
struct RowNumbers {
  using Last = RowInput<N - 1>;
  using T = typename Last::Type;
  RowNumbers<N - 1> before;
  One<T, Last::kSpread> last;

  QUERN_DEVICE void read(const KernelParams& p, const RowPlace& at) {
    before.read(p, at);
    last.read(static_cast<const T*>(Last::base(p)), at);
  }
  template <int All>
  QUERN_DEVICE void numbers(float (&out)[All]) const {
    before.numbers(out);
    last.number(out[N - 1]);
  }
};
template <>
struct RowNumbers<0> {
  QUERN_DEVICE void read(const KernelParams&, const RowPlace&) {}
  template <int All>
  QUERN_DEVICE void numbers(float (&)[All]) const {}
};

// The inputs of each element of a piece, one by one: f(i, in).
template <class F>
QUERN_DEVICE void for_elements(const SegmentInputs<kInputs>& segment, const RowNumbers<kInputs>& row, int piece,
                               const F& f) {
  Numbers numbers[kInputs] = {};
  segment.numbers(piece, numbers);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    float in[kInputs];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) in[k] = numbers[k][i];
    row.numbers(in);
    f(i, in);
  }
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_ROW_INPUTS_CUH_
