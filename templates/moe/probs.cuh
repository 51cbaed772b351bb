// Probabilities that move with the rows: from a token's routes to rows, and back.
#ifndef QUERN_MOE_PROBS_CUH_
#define QUERN_MOE_PROBS_CUH_

#include "moe/rows.cuh"

namespace quern::moe {

constexpr int kProb = spec::prob_bytes != 0 ? spec::prob_bytes : 4;  // without probabilities nothing uses it
using ProbBits = Vector<kProb>;

QUERN_DEVICE u8* prob_at(void* probs, u64 at) { return static_cast<u8*>(probs) + at * kProb; }
QUERN_DEVICE const u8* prob_at(const void* probs, u64 at) { return static_cast<const u8*>(probs) + at * kProb; }

// Calls move(route, row) in one of the threads of a group for each route of a token.
template <class Move>
QUERN_DEVICE void for_routes(const Params& p, u64 token, const Move& move) {
#pragma unroll 1
  for (u32 k = lane(); k < kTopk; k += kLanes) {
    const u64 route = token * kTopk + k;
    move(route, load<4, LoadHint::keep>(p.token_rows + route).w[0]);
  }
}

// out_probs[row] = probs[route]
QUERN_DEVICE void dispatch_probs(const Params& p, u64 token) {
  for_routes(p, token, [&](u64 route, u32 row) {
    if (row != kNoRow) store<kProb>(prob_at(p.out_probs, row), load<kProb, LoadHint::keep>(prob_at(p.probs, route)));
  });
}

// out_probs[route] = probs[row], or 0
QUERN_DEVICE void collect_probs(const Params& p, u64 token) {
  for_routes(p, token, [&](u64 route, u32 row) {
    ProbBits prob = {};
    if (row != kNoRow) prob = load<kProb>(prob_at(p.probs, row));
    store<kProb>(prob_at(p.out_probs, route), prob);
  });
}

}  // namespace quern::moe

#endif  // QUERN_MOE_PROBS_CUH_
