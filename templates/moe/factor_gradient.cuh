// The gradients of a dispatch with factors: of a token's row, the sum of the gradients of its rows, each times its
// factor, in the order of the routes; of a route's factor, the dot product of its row's gradient and the row that
// moved. That of a token's factor is the sum of its routes', in their order. Gradients are read once.
#ifndef QUERN_MOE_FACTOR_GRADIENT_CUH_
#define QUERN_MOE_FACTOR_GRADIENT_CUH_

#include "moe/probs.cuh"
#include "moe/segments.cuh"

namespace quern::moe {

struct SegmentSums {
  float of[kSteps][kChunk] = {};
};

QUERN_DEVICE void add_segment(const Segment& gradient, float factor, SegmentSums& sums) {
#pragma unroll
  for (u32 s = 0; s < kSteps; ++s) {
    float values[kChunk];
    unpack<Element, kChunk>(gradient.chunks[s], values);
#pragma unroll
    for (int e = 0; e < kChunk; ++e) sums.of[s][e] = fmaf(factor, values[e], sums.of[s][e]);
  }
}

QUERN_DEVICE void store_sums(const Params& p, u32 token, u32 number, const SegmentSums& sums) {
  Vector<16> made[kSteps];
#pragma unroll
  for (u32 s = 0; s < kSteps; ++s) made[s] = pack<Element, kChunk>(sums.of[s]);
  if constexpr (kRagged) return put_columns(p, token, column_of(number, 0, 0), made);
#pragma unroll
  for (u32 s = 0; s < kSteps; ++s) {
#pragma unroll
    for (u32 i = 0; i < kVectorsOfChunk; ++i) {
      const u32 column = column_of(number, s, i);
      if (column < p.vectors)
        store<kVector, kStore>(vector_at(p, p.out, token, column), piece_of<kVector>(made[s], static_cast<int>(i)));
    }
  }
}

// All lanes of a warp take part, also where a token has no such route.
QUERN_DEVICE void routes_of_segment(const Params& p, const Token& token, const Segment& own, u32 number, u32 first,
                                    const Rows& rows, float of_token, SegmentSums& sums) {
  Factors factors;
  if (token.inside) factors = load_factors(p, token.number, first);
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    const bool exists = has_row(p, rows.of[i]);
    const Segment gradient = load_segment(p, p.source, rows.of[i], exists, number);
    if (exists) add_segment(gradient, kRouteFactors ? factors.of[i] : of_token, sums);
    put_sum(p, token, number, first + i, segment_dot(exists ? lane_dots(gradient, own) : ChunkSums()));
  }
}

QUERN_DEVICE void store_factor(const Params& p, u64 at, float gradient) {
  store<kFactor>(static_cast<spec::Factor*>(p.out_factors) + at,
                 bit_cast<Vector<kFactor>>(from_compute<spec::Factor>(gradient)));
}

QUERN_DEVICE void store_factors(const Params& p, const Token& token) {
  if constexpr (kRouteFactors) {
#pragma unroll 1
    for (u32 k = token.thread(); k < kTopk; k += kLanes * kWarps)
      store_factor(p, token.number * kTopk + k, dot_of_route(p, token, k));
  } else if (token.thread() == 0) {
    float sum = 0;
#pragma unroll 1
    for (u32 k = 0; k < kTopk; ++k) sum += dot_of_route(p, token, k);
    store_factor(p, token.number, sum);
  }
}

QUERN_DEVICE void move_rows(const Params& p) {
  const Token token = token_of_thread(p);
  const float of_token = token.inside ? token_factor(p, token.number) : 0.0f;
#pragma unroll 1
  for (u32 segment = token.warp; segment < p.parts; segment += kWarps) {
    // Looked up before the token's row is read, and a turn ahead: see move_rows of combine_gradient.cuh.
    Rows rows = rows_of(p, token, 0);
    const Segment own = load_segment(p, p.rows, token.number, token.inside, segment);
    SegmentSums sums;
#pragma unroll 1
    for (u32 first = 0; first < kTopk; first += kBatch) {
      const Rows of_turn = rows;
      if (first + kBatch < kTopk) rows = rows_of(p, token, first + kBatch);
      routes_of_segment(p, token, own, segment, first, of_turn, of_token, sums);
    }
    if (token.inside) store_sums(p, token.number, segment, sums);
  }
  if constexpr (kWarps == 1) __syncwarp();
  if constexpr (kWarps > 1) __syncthreads();
  if (!token.inside) return;
  store_factors(p, token);
  if constexpr (spec::prob_bytes != 0) {
    if (token.warp == 0) collect_probs(p, token.number);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_FACTOR_GRADIENT_CUH_
