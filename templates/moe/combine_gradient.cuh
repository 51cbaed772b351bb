// The gradients of a weighted combine: of each row, the token's gradient times the route's weight; of each weight, the
// dot product of the token's gradient and the row. A team reads the token's gradient once.
#ifndef QUERN_MOE_COMBINE_GRADIENT_CUH_
#define QUERN_MOE_COMBINE_GRADIENT_CUH_

#include "moe/pads.cuh"
#include "moe/segments.cuh"

namespace quern::moe {

using Prob = spec::Prob;

QUERN_DEVICE Vector<16> scaled_chunk(const Vector<16>& chunk, float weight) {
  float values[kChunk];
  unpack<Element, kChunk>(chunk, values);
#pragma unroll
  for (int e = 0; e < kChunk; ++e) values[e] *= weight;
  return pack<Element, kChunk>(values);
}

QUERN_DEVICE void store_scaled(const Params& p, u32 row, float weight, const Segment& segment, u32 number) {
  if constexpr (kRagged) {
    Segment scaled;
#pragma unroll
    for (u32 s = 0; s < kSteps; ++s) scaled.chunks[s] = scaled_chunk(segment.chunks[s], weight);
    return put_columns(p, row, column_of(number, 0, 0), scaled.chunks);
  }
  u8* const to = vector_at(p, p.out, row, column_of(number, 0, 0));
#pragma unroll
  for (u32 s = 0; s < kSteps; ++s) {
    const Vector<16> chunk = scaled_chunk(segment.chunks[s], weight);
#pragma unroll
    for (u32 i = 0; i < kVectorsOfChunk; ++i) {
      if (column_of(number, s, i) < p.vectors)
        store<kVector, kStore>(to + after_first(s, i), piece_of<kVector>(chunk, static_cast<int>(i)));
    }
  }
}

// A route at a time, whose row is not kept.
QUERN_DEVICE ChunkSums ragged_route(const Params& p, const Segment& gradient, u32 number, u32 row, float weight) {
  ChunkSums sums;
  for_ragged_chunks(p, p.rows, row, true, number,
                    [&](u32 s, const Vector<16>& chunk) { sums.of[s] = chunk_dot(chunk, gradient.chunks[s]); });
  store_scaled(p, row, weight, gradient, number);
  return sums;
}

// All lanes of a warp take part, also where a token has no such route.
QUERN_DEVICE void routes_of_segment(const Params& p, const Token& token, const Segment& gradient, u32 number, u32 first,
                                    const Rows& rows) {
  ProbBits probs[kBatch] = {};
  if (token.inside) load_probs(p, token.number, first, rows, probs);
  if constexpr (kRagged) {
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      ChunkSums sums;
      if (has_row(p, rows.of[i]))
        sums = ragged_route(p, gradient, number, rows.of[i], to_float(bit_cast<Prob>(probs[i])));
      put_sum(p, token, number, first + i, segment_dot(sums));
    }
    return;
  }
  Segment forward[kBatch];
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) forward[i] = load_segment(p, p.rows, rows.of[i], has_row(p, rows.of[i]), number);
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) {
    const bool exists = has_row(p, rows.of[i]);
    const float sum = segment_dot(exists ? lane_dots(forward[i], gradient) : ChunkSums());
    if (exists) store_scaled(p, rows.of[i], to_float(bit_cast<Prob>(probs[i])), gradient, number);
    put_sum(p, token, number, first + i, sum);
  }
}

// The gradient of a route's probability.
QUERN_DEVICE ProbBits sum_of_route(const Params& p, const Token& token, u32 k) {
  return bit_cast<ProbBits>(from_compute<Prob>(dot_of_route(p, token, k)));
}

QUERN_DEVICE void store_probs(const Params& p, const Token& token) {
  if (!token.inside) return;
  if constexpr (spec::dense_probs) {
    store_dense_probs<kLanes * kWarps>(p, token.number, token.thread(),
                                       [&](u32 k, u32) { return sum_of_route(p, token, k); });
    return;
  }
  const u32 end = end_route(p, token);
#pragma unroll 1
  for (u32 k = first_route(p, token) + token.thread(); k < end; k += kLanes * kWarps)
    store<kProb>(prob_at(p.out_probs, token.number * kTopk + k), sum_of_route(p, token, k));
}

QUERN_DEVICE void move_rows(const Params& p) {
  if constexpr (spec::pads) {
    if (blockIdx.x < p.pad_blocks) return clear_pads(p);
  }
  const Token token = token_of_thread(p);
#pragma unroll 1
  for (u32 segment = token.warp; segment < p.parts; segment += kWarps) {
    // Looked up before the gradient is read, and a turn ahead. What is made of the gradient for all routes is made
    // before their loop, where it is waited for: rows that are looked up after that would be read one wait later.
    Rows rows = rows_of(p, token, first_route(p, token));
    const Segment gradient = load_segment(p, p.source, token.number, token.inside, segment);
    // As often in all teams: those of a warp take part in each other's shuffles. There is nothing after the last route.
#pragma unroll 1
    for (u32 route = 0; route < p.routes_of_team; route += kBatch) {
      const u32 first = first_route(p, token) + route;
      const Rows of_turn = rows;
      if (route + kBatch < p.routes_of_team) rows = rows_of(p, token, first + kBatch);
      routes_of_segment(p, token, gradient, segment, first, of_turn);
    }
  }
  if constexpr (kWarps == 1) __syncwarp();
  if constexpr (kWarps > 1) __syncthreads();
  store_probs(p, token);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_COMBINE_GRADIENT_CUH_
