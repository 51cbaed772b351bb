// The map as the experts of each token. Each warp has consecutive routes, 32 at a time, one a lane. A route's place in
// its expert is the number of equal experts in lower lanes, in earlier iterations, and in earlier warps.
#ifndef QUERN_MOE_MAP_IDS_CUH_
#define QUERN_MOE_MAP_IDS_CUH_

#include "moe_map/routes.cuh"

namespace quern::moe_map {

constexpr u32 kNone = 0xffffffffu;
constexpr int kAhead = 4;  // iterations whose routes are loaded together
constexpr bool kLimitsRoutes = false;

struct Slice {
  u32 begin;
  u32 end;
};

// The warp's routes, counted from the block's first. Warps without counters have none.
QUERN_DEVICE Slice slice_of_warp(const Params& p, const Tokens& tokens) {
  const u32 all = tokens.count * p.topk, own = ((all + p.counters - 1) / p.counters + 31) / 32 * 32;
  const u32 begin = warp() * own;
  return {begin, begin + own < all ? begin + own : all};
}

// A warp's number of routes of each expert; later the row of its next route.
QUERN_DEVICE Words counters_of_warp(const Params& p, u32 w) { return Words(first_word(p) + w * p.experts); }

QUERN_DEVICE u32 expert_at(const Params& p, u64 route) {
  using Index = spec::Index;
  const auto* const at = static_cast<const Index*>(p.map) + route;
  const i64 id = bit_cast<Index>(load<sizeof(Index)>(at));
  if (id < 0 || id >= p.valid) return kNone;
  if constexpr (!spec::expert_map) return static_cast<u32>(id);
  const u32 expert = load<4>(p.expert_map + id).w[0];
  return expert < p.experts ? expert : kNone;
}

// Calls body(route, expert, lanes that have the same expert) for the warp's routes, in all lanes.
template <class Body>
QUERN_DEVICE void for_routes(const Params& p, const Tokens& tokens, const Body& body) {
  const Slice slice = slice_of_warp(p, tokens);
  const u64 first = tokens.first * p.topk;
#pragma unroll 1
  for (u32 begin = slice.begin; begin < slice.end; begin += 32 * kAhead) {
    u32 experts[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const u32 route = begin + i * 32 + lane();
      experts[i] = route < slice.end ? expert_at(p, first + route) : kNone;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) body(begin + i * 32 + lane(), experts[i], __match_any_sync(kAll, experts[i]));
  }
}

// Adds to the expert's word and returns what it was, in all lanes that have the expert.
QUERN_DEVICE u32 advance(const Words& words, u32 expert, u32 same) {
  u32 before = 0;
  if (expert != kNone) before = words.get(expert);
  __syncwarp();
  if (expert != kNone && (same & lanes_below()) == 0) words.set(expert, before + popc(same));
  __syncwarp();
  return before;
}

QUERN_DEVICE void count_routes(const Params& p, const Tokens& tokens) {
  const Words own = counters_of_warp(p, warp());
  for (u32 e = lane(); warp() < p.counters && e < p.experts; e += 32) own.set(e, 0);
  __syncwarp();
  for_routes(p, tokens, [&](u32, u32 expert, u32 same) { advance(own, expert, same); });
  __syncthreads();
  if (const u32 e = threadIdx.x; e < p.experts) {
    u32 all = 0;
#pragma unroll 4
    for (u32 w = 0; w < p.counters; ++w) all += counters_of_warp(p, w).get(e);
    experts_of_block().set(e, all);
  }
  if (threadIdx.x == 0) experts_of_block().set(p.experts, 0);
  __syncthreads();
}

QUERN_DEVICE void write_routes(const Params& p, const Tokens& tokens) {
  if (const u32 e = threadIdx.x; e < p.experts) {
    u32 next = experts_of_block().get(e);
#pragma unroll 4
    for (u32 w = 0; w < p.counters; ++w) {
      const u32 own = counters_of_warp(p, w).get(e);
      counters_of_warp(p, w).set(e, next);
      next += own;
    }
  }
  __syncthreads();
  const Words next = counters_of_warp(p, warp());
  for_routes(p, tokens, [&](u32 route, u32 expert, u32 same) {
    const u32 first = advance(next, expert, same);
    if (route >= slice_of_warp(p, tokens).end) return;
    const u64 at = tokens.first * p.topk + route;
    if (expert == kNone) return put(p.token_rows + at, kNone);
    write_route(p, at, tokens.first + divide32(route, p.by_topk), first + popc(same & lanes_below()));
  });
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_IDS_CUH_
