// The rows of a token's routes are added up in fp32 in the order of the routes, weighted or not, and rounded once.
#ifndef QUERN_MOE_COMBINE_CUH_
#define QUERN_MOE_COMBINE_CUH_

#include "common/numbers.cuh"
#include "moe/probs.cuh"

namespace quern::moe {

using Element = spec::Element;
constexpr int kElements = kVector / static_cast<int>(sizeof(Element));

struct Weights {
  float of[kBatch] = {};
};

QUERN_DEVICE Weights load_weights(const Params& p, u64 token, u32 first, const Rows& rows) {
  Weights weights;
  if constexpr (spec::weighted) {
    ProbBits probs[kBatch] = {};
    load_probs(p, token, first, rows, probs);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) weights.of[i] = to_float(bit_cast<spec::Prob>(probs[i]));
  }
  return weights;
}

using Values = Vector<kVector>[kUnroll];
using Sums = float[kUnroll][kElements];

// `first`: the thread's first vector, in row 0.
QUERN_DEVICE void load_part(const Params& p, const u8* first, u32 row, const Part& part, Values& values) {
  const u8* const from = of_row(p, first, row);
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    if (part.column_of(i) < p.vectors) values[i] = load<kVector, kLoad>(from + i * (kLanes * kVector));
  }
}

QUERN_DEVICE void add(const Values& values, float weight, Sums& sums) {
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    float own[kElements];
    unpack<Element, kElements>(values[i], own);
#pragma unroll
    for (int e = 0; e < kElements; ++e)
      sums[i][e] = spec::weighted ? fmaf(weight, own[e], sums[i][e]) : sums[i][e] + own[e];
  }
}

// All rows are read before the first is added.
QUERN_DEVICE void add_ragged(const Params& p, const Part& part, const Rows& rows, const Weights& weights, Sums& sums) {
  ColumnBits bits[kBatch][kUnroll];
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i)
    read_columns(p, source_bytes(p), has_row(p, rows.of[i]), rows.of[i], part.column, bits[i]);
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    if (!has_row(p, rows.of[i])) continue;
    Values values;
    values_of(p, source_bytes(p), rows.of[i], part.column, bits[i], values);
    add(values, weights.of[i], sums);
  }
}

// A route without a row adds nothing: not even 0, since its weight may be a NaN.
QUERN_DEVICE void add_routes(const Params& p, const Part& part, u32 first, Sums& sums) {
  const Rows rows = load_rows(p, part.row, first);
  const Weights weights = load_weights(p, part.row, first, rows);
  if constexpr (spec::lookups_first) issue_reads(p.vectors == kNoRow);
  if constexpr (kRagged) return add_ragged(p, part, rows, weights, sums);
  const u8* const source = vector_at(p, p.source, 0, part.column);
  Values values[kBatch] = {};
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    if (has_row(p, rows.of[i])) load_part(p, source, rows.of[i], part, values[i]);
  }
  issue_reads(p.capacity == kNoRow);
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    if (has_row(p, rows.of[i])) add(values[i], weights.of[i], sums);
  }
}

QUERN_DEVICE void add_residual(const Params& p, const Part& part, Sums& sums) {
  Values values = {};
  if constexpr (kRagged) {
    const u8* const begin = static_cast<const u8*>(p.residual);
    load_columns(p, Readable{begin, begin + p.tokens * p.row_bytes}, part.row, part.column, values);
  } else {
    load_part(p, vector_at(p, p.residual, 0, part.column), part.row, part, values);
  }
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    float own[kElements];
    unpack<Element, kElements>(values[i], own);
#pragma unroll
    for (int e = 0; e < kElements; ++e) sums[i][e] += own[e];
  }
}

QUERN_DEVICE void combine_part(const Params& p, const Part& part) {
  if (!kRagged && part.column >= p.vectors) return;
  Sums sums = {};
#pragma unroll 1
  for (u32 first = 0; first < kTopk; first += kBatch) add_routes(p, part, first, sums);
  if constexpr (spec::residual) add_residual(p, part, sums);
  if constexpr (kRagged) {
    Values made;
#pragma unroll
    for (u32 i = 0; i < kUnroll; ++i) made[i] = pack<Element, kElements>(sums[i]);
    return put_columns(p, part.row, part.column, made);
  }
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors)
      store<kVector, kStore>(vector_at(p, p.out, part.row, column), pack<Element, kElements>(sums[i]));
  }
}

QUERN_DEVICE void move_rows(const Params& p) {
  const Part part = part_at(p, group_from(0));
  if (part.row >= p.tokens) return;
  combine_part(p, part);
  if constexpr (spec::prob_bytes != 0 && !spec::weighted) {
    if (part.of_row == 0) collect_probs(p, part.row);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_COMBINE_CUH_
