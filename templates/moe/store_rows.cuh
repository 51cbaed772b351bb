// What was made of a token's row, written to the row of each of its routes.
#ifndef QUERN_MOE_STORE_ROWS_CUH_
#define QUERN_MOE_STORE_ROWS_CUH_

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

// `Made`: of keep.cuh, quantize.cuh or quantize_row.cuh. `Place`: Part, or what a team has of a row.
template <class Place, class Made>
QUERN_DEVICE void store_part(const Params& p, const Place& part, u32 row, bool zero, const Made& made) {
  if constexpr (kRagged) {
    Made cleared = made;
#pragma unroll
    for (u32 i = 0; i < kUnroll && kProbs; ++i) cleared.elements[i] = zero ? Vector<kOutVector>{} : made.elements[i];
    return put_columns(p, row, part.column, cleared.elements);
  }
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors)
      store<kOutVector, kStore>(made_at(p, row, column, kOutVector),
                                kProbs && zero ? Vector<kOutVector>{} : made.elements[i]);
  }
  if constexpr (!kBlocked) store_made_scales(p, part, row, kProbs && zero, made);
}

// Calls put(row, zero, factor) for each row of a token.
template <class Put>
QUERN_DEVICE void for_rows(const Params& p, u64 token, const Put& put) {
#pragma unroll 1
  for (u32 first = 0; first < kTopk; first += kBatch) {
    const Rows rows = load_rows(p, token, first);
    const Zeros zeros = load_zeros(p, token, first, rows);
    const Factors factors = load_factors(p, token, first);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      if (has_row(p, rows.of[i])) put(rows.of[i], zeros.of[i], factors.of[i]);
    }
  }
}

constexpr u32 kZeroRow = 0x80000000u;  // no row has this bit

// The same of all lanes of a group together. Each has a route and tells the others: one row after the other, where a
// store is much code.
template <class Put>
QUERN_DEVICE void for_rows_in_turn(const Params& p, u64 token, const Put& put) {
#pragma unroll 1
  for (u32 first = 0; first < kTopk; first += kLanes) {
    const u64 route = token * kTopk + first + lane();
    u32 row = kNoRow;  // the highest bit: its probability is 0
    if (first + lane() < kTopk) row = load<4, LoadHint::keep>(p.token_rows + route).w[0];
    if (!has_row(p, row)) row = kNoRow;
    const float factor = row != kNoRow ? route_factor(p, route) : 1;
    if constexpr (kProbs) {
      if (row != kNoRow && is_zero(load<kProb, LoadHint::keep>(prob_at(p.probs, place_of_prob(p, token, route)))))
        row |= kZeroRow;
    }
#pragma unroll 1
    for (u32 i = 0; i < kLanes && first + i < kTopk; ++i) {
      const u32 to = __shfl_sync(group_mask(), row, static_cast<int>(i), static_cast<int>(kLanes));
      float times = 1;
      if constexpr (kRouteFactors)
        times = __shfl_sync(group_mask(), factor, static_cast<int>(i), static_cast<int>(kLanes));
      if (to != kNoRow) put(to & ~kZeroRow, (to & kZeroRow) != 0, times);
    }
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_STORE_ROWS_CUH_
