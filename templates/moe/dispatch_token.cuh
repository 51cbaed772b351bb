// A part of a token's row is read once and written to the row of each of its routes, as it is (keep.cuh) or quantized
// (quantize.cuh), and before that as it is (no_factors.cuh) or multiplied (factors.cuh).
#ifndef QUERN_MOE_DISPATCH_TOKEN_CUH_
#define QUERN_MOE_DISPATCH_TOKEN_CUH_

#include "moe/store_rows.cuh"

namespace quern::moe {

struct Products {
  Vector<kVector> values[kUnroll];
};

QUERN_DEVICE Products multiplied(const Vector<kVector> (&values)[kUnroll], float factor) {
  Products products;
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) products.values[i] = values[i];
  multiply(factor, products.values);
  return products;
}

// Calls put(row, zero, factor) for each row of a token.
template <class Put>
QUERN_DEVICE void put_rows(const Params& p, u64 token, const Put& put) {
  if constexpr (kRagged) {
    for_rows_in_turn(p, token, put);
  } else {
    for_rows(p, token, put);
  }
}

// With a factor for each route, what is written differs from row to row.
QUERN_DEVICE void dispatch_part(const Params& p, const Part& part) {
  Vector<kVector> values[kUnroll] = {};
  if constexpr (kRagged) load_columns(p, source_bytes(p), part.row, part.column, values);
#pragma unroll
  for (u32 i = 0; i < kUnroll && !kRagged; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors) values[i] = load<kVector, kLoad>(vector_at(p, p.source, part.row, column));
  }
  if constexpr (kRouteFactors) {
    return put_rows(p, part.row, [&](u32 row, bool zero, float factor) {
      store_part(p, part, row, zero, make(p, multiplied(values, factor).values));
    });
  }
  multiply(token_factor(p, part.row), values);
  const auto made = make(p, values);
  if constexpr (kBlocked) store_made_scales(p, part, part.row, false, made);
  put_rows(p, part.row, [&](u32 row, bool zero, float) { store_part(p, part, row, zero, made); });
}

QUERN_DEVICE void dispatch_scales(const Params& p, u64 token) {
#pragma unroll 1
  for (u32 column = lane(); column < p.scale_vectors; column += kLanes) {
    const Vector<kScaleVector> scales = load_scales(p, token, column);
    for_rows(p, token, [&](u32 row, bool zero, float) {
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
