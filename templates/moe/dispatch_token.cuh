// A part of a token's row is read once and written to the row of each of its routes, as it is (keep.cuh) or quantized
// (quantize.cuh).
#ifndef QUERN_MOE_DISPATCH_TOKEN_CUH_
#define QUERN_MOE_DISPATCH_TOKEN_CUH_

#include "moe/pads.cuh"

namespace quern::moe {

constexpr bool kProbs = spec::prob_bytes != 0;

// A route whose probability is 0 gives a row of zeros.
struct Zeros {
  bool of[kBatch] = {};
};

QUERN_DEVICE Zeros load_zeros(const Params& p, u64 token, u32 first, const Rows& rows) {
  Zeros zeros;
  if constexpr (kProbs) {
    ProbBits probs[kBatch] = {};
    load_probs(p, token, first, rows, probs);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) zeros.of[i] = is_zero(probs[i]);
  }
  return zeros;
}

// `Made`: of keep.cuh or quantize.cuh.
template <class Made>
QUERN_DEVICE void store_part(const Params& p, const Part& part, u32 row, bool zero, const Made& made) {
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors)
      store<kOutVector, kStore>(made_at(p, row, column, kOutVector),
                                kProbs && zero ? Vector<kOutVector>{} : made.elements[i]);
  }
  if constexpr (!kBlocked) store_made_scales(p, part, row, kProbs && zero, made);
}

// Calls put(row, zero) for each row of a token.
template <class Put>
QUERN_DEVICE void for_rows(const Params& p, u64 token, const Put& put) {
#pragma unroll 1
  for (u32 first = 0; first < kTopk; first += kBatch) {
    const Rows rows = load_rows(p, token, first);
    const Zeros zeros = load_zeros(p, token, first, rows);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      if (rows.of[i] != kNoRow) put(rows.of[i], zeros.of[i]);
    }
  }
}

QUERN_DEVICE void dispatch_part(const Params& p, const Part& part) {
  Vector<kVector> values[kUnroll] = {};
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors) values[i] = load<kVector, kLoad>(vector_at(p, p.source, part.row, column));
  }
  const auto made = make(p, values);
  if constexpr (kBlocked) store_made_scales(p, part, static_cast<u32>(part.row), false, made);
  for_rows(p, part.row, [&](u32 row, bool zero) { store_part(p, part, row, zero, made); });
}

QUERN_DEVICE void dispatch_scales(const Params& p, u64 token) {
#pragma unroll 1
  for (u32 column = lane(); column < p.scale_vectors; column += kLanes) {
    const Vector<kScaleVector> scales = load_scales(p, token, column);
    for_rows(p, token, [&](u32 row, bool zero) {
      store_scales(p, row, column, kProbs && zero ? Vector<kScaleVector>{} : scales);
    });
  }
}

// And what moves with the row, with its first part.
QUERN_DEVICE void dispatch_token_part(const Params& p, const Part& part) {
  dispatch_part(p, part);
  if (part.of_row != 0) return;
  if constexpr (kScales) dispatch_scales(p, part.row);
  if constexpr (kProbs) dispatch_probs(p, part.row);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_DISPATCH_TOKEN_CUH_
