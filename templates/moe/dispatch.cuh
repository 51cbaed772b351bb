// Each token's row is read once and written to the row of each of its routes.
#ifndef QUERN_MOE_DISPATCH_CUH_
#define QUERN_MOE_DISPATCH_CUH_

#include "moe/pads.cuh"

namespace quern::moe {

constexpr bool kProbs = spec::prob_bytes != 0;

// A route whose probability is 0 gives a row of zeros.
struct Zeros {
  bool of[kBatch] = {};
};

QUERN_DEVICE Zeros load_zeros(const Params& p, u64 token, u32 first) {
  Zeros zeros;
  if constexpr (kProbs) {
    ProbBits probs[kBatch] = {};
    load_entries<kProb>(p.probs, token, first, probs);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) zeros.of[i] = (static_cast<u32>(probs[i].w[0]) << (33 - 8 * kProb)) == 0;
  }
  return zeros;
}

QUERN_DEVICE void store_part(const Params& p, const Part& part, u32 row, bool zero,
                             const Vector<kVector> (&values)[kUnroll]) {
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors)
      store<kVector, kStore>(vector_at(p, p.out, row, column), kProbs && zero ? Vector<kVector>{} : values[i]);
  }
}

QUERN_DEVICE void dispatch_part(const Params& p, const Part& part) {
  Vector<kVector> values[kUnroll] = {};
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors) values[i] = load<kVector, kLoad>(vector_at(p, p.source, part.row, column));
  }
#pragma unroll 1
  for (u32 first = 0; first < kTopk; first += kBatch) {
    const Rows rows = load_rows(p, part.row, first);
    const Zeros zeros = load_zeros(p, part.row, first);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      if (rows.of[i] != kNoRow) store_part(p, part, rows.of[i], zeros.of[i], values);
    }
  }
}

QUERN_DEVICE void move_rows(const Params& p) {
  if constexpr (spec::pads) {
    if (blockIdx.x < p.pad_blocks) return clear_pads(p);
  }
  const Part part = part_at(p, group_from(p.pad_blocks));
  if (part.row >= p.tokens) return;
  dispatch_part(p, part);
  if constexpr (kProbs) {
    if (part.of_row == 0) dispatch_probs(p, part.row);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_DISPATCH_CUH_
