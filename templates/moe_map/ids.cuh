// The map as the experts of each token.
#ifndef QUERN_MOE_MAP_IDS_CUH_
#define QUERN_MOE_MAP_IDS_CUH_

#include "moe_map/routes.cuh"

namespace quern::moe_map {

constexpr bool kListsRoutes = false;

template <int Bytes>
struct IdOf {
  using Type = u64;
};
template <>
struct IdOf<4> {
  using Type = u32;
};
using Id = IdOf<sizeof(spec::Index)>::Type;

// Warps without counters have no routes.
QUERN_DEVICE Slice slice_of_warp(const Params& p, const Tokens& tokens) {
  const u32 all = tokens.count * p.topk, own = ((all + kCounters - 1) / kCounters + 31) / 32 * 32;
  const u32 begin = least(warp() * own, all);
  return {begin, least(begin + own, all)};
}

// `id`: a negative one is too large.
QUERN_DEVICE u32 expert_of(const Params& p, Id id) {
  if (id >= p.valid) return kNone;
  if constexpr (!spec::expert_map) return static_cast<u32>(id);
  const u32 expert = load<4>(p.expert_map + id).w[0];
  return expert < p.experts ? expert : kNone;
}

QUERN_DEVICE Routes read_routes(const Params& p, const Tokens& tokens, u32 first, u32 end) {
  const auto* const ids = static_cast<const Id*>(p.map) + tokens.first * p.topk;
  Id found[kRoutes];
#pragma unroll
  for (int i = 0; i < kRoutes; ++i) {
    found[i] = ~Id{0};
    if (const u32 route = route_at(first, i); route < end) found[i] = bit_cast<Id>(load<sizeof(Id)>(ids + route));
  }
  Routes routes = {};
#pragma unroll
  for (int i = 0; i < kRoutes; ++i) routes.expert[i] = expert_of(p, found[i]);
  return routes;
}

// Calls body(first route, routes of this lane) for each step of the slice. Returns the dropped routes: none.
template <class Body>
QUERN_DEVICE u32 for_steps(const Params& p, const Tokens& tokens, const Slice& slice, const Body& body) {
#pragma unroll 1
  for (u32 first = slice.begin; first < slice.end; first += kStep) {
    Routes routes = read_routes(p, tokens, first, slice.end);
    body(first, routes);
  }
  return 0;
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_IDS_CUH_
