// Probabilities: where those of a token are, and how they move with the rows, from a token's routes to rows and back.
#ifndef QUERN_MOE_PROBS_CUH_
#define QUERN_MOE_PROBS_CUH_

#include "moe/columns.cuh"

namespace quern::moe {

constexpr int kProb = spec::prob_bytes != 0 ? spec::prob_bytes : 4;  // without probabilities nothing uses it
using ProbBits = Vector<kProb>;

QUERN_DEVICE u8* prob_at(void* probs, u64 at) { return static_cast<u8*>(probs) + at * kProb; }
QUERN_DEVICE const u8* prob_at(const void* probs, u64 at) { return static_cast<const u8*>(probs) + at * kProb; }

// Of routes first, first + 1, … of a token. Without a row it is any number.
QUERN_DEVICE void load_probs(const Params& p, u64 token, u32 first, const Rows& rows, ProbBits (&probs)[kBatch]) {
  if constexpr (spec::dense_probs) {
    const Experts experts = load_experts(p, token, first);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      if (has_row(p, rows.of[i]))
        probs[i] = load<kProb, LoadHint::keep>(prob_at(p.probs, token * p.experts + experts.of[i]));
    }
  } else {
    load_entries<kProb>(p.probs, token, first, probs);
  }
}

// Writes value(k, row) for each expert that the token's k-th route is to, and 0 for the others. Of kThreads threads the
// `number`th has each kThreads-th expert: no thread writes what another one does.
template <u32 kThreads, class Value>
QUERN_DEVICE void store_dense_probs(const Params& p, u64 token, u32 number, const Value& value) {
  const u64 place = token * p.experts;
#pragma unroll 1
  for (u32 expert = number; expert < p.experts; expert += kThreads)
    store<kProb>(prob_at(p.out_probs, place + expert), ProbBits{});
#pragma unroll 1
  for (u32 first = 0; first < kTopk; first += kBatch) {
    const Rows rows = load_rows(p, token, first);
    const Experts experts = load_experts(p, token, first);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      if (has_row(p, rows.of[i]) && experts.of[i] % kThreads == number)
        store<kProb>(prob_at(p.out_probs, place + experts.of[i]), value(first + i, rows.of[i]));
    }
  }
}

// Either zero.
QUERN_DEVICE bool is_zero(const ProbBits& prob) { return (static_cast<u32>(prob.w[0]) << (33 - 8 * kProb)) == 0; }

// Calls move(route, row) in one of the threads of a group for each route of a token.
template <class Move>
QUERN_DEVICE void for_routes(const Params& p, u64 token, const Move& move) {
#pragma unroll 1
  for (u32 k = lane(); k < kTopk; k += kLanes) {
    const u64 route = token * kTopk + k;
    move(route, load<4, LoadHint::keep>(p.token_rows + route).w[0]);
  }
}

// Where the probability of a route is.
QUERN_DEVICE u64 place_of_prob(const Params& p, u64 token, u64 route) {
  if constexpr (!spec::dense_probs) return route;
  return token * p.experts + load<4, LoadHint::keep>(p.token_experts + route).w[0];
}

// out_probs[row] = the probability of the route
QUERN_DEVICE void dispatch_probs(const Params& p, u64 token) {
  for_routes(p, token, [&](u64 route, u32 row) {
    if (!has_row(p, row)) return;
    const u64 place = place_of_prob(p, token, route);
    store<kProb>(prob_at(p.out_probs, row), load<kProb, LoadHint::keep>(prob_at(p.probs, place)));
  });
}

// The probability of a route = probs[row], or 0
QUERN_DEVICE void collect_probs(const Params& p, u64 token) {
  if constexpr (spec::dense_probs) {
    store_dense_probs<kLanes>(p, token, lane(), [&](u32, u32 row) { return load<kProb>(prob_at(p.probs, row)); });
    return;
  }
  for_routes(p, token, [&](u64 route, u32 row) {
    ProbBits prob = {};
    if (has_row(p, row)) prob = load<kProb>(prob_at(p.probs, row));
    store<kProb>(prob_at(p.out_probs, route), prob);
  });
}

}  // namespace quern::moe

#endif  // QUERN_MOE_PROBS_CUH_
