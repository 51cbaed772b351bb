// The routes of a warp in registers. A route's rank is the number of earlier routes of its expert in its warp: those in
// lower lanes, in earlier words and in earlier steps.
#ifndef QUERN_MOE_MAP_ROUTES_CUH_
#define QUERN_MOE_MAP_ROUTES_CUH_

#include "moe_map/block.cuh"

namespace quern::moe_map {

constexpr u32 kNone = 0xffffffffu;
constexpr int kRoutes = spec::routes;
constexpr u32 kStep = 32 * kRoutes;
// Warps that have routes, as many as shared memory has counters for; words from the counters of one to those of the
// next.
constexpr u32 kCounters = spec::counters, kStride = spec::stride;

// A warp's number of routes of each expert; later those of earlier warps.
QUERN_DEVICE SharedWords counters_of_warp(const Params& p, u32 w) {
  return SharedWords(p.places.counters + w * kStride);
}

// The warp's routes, counted from the block's first.
struct Slice {
  u32 begin;
  u32 end;

  // Whether its routes stay in registers while the blocks exchange their counts.
  QUERN_DEVICE bool is_kept() const { return end - begin <= kStep; }
};

// Of this lane: each 32nd of up to kStep consecutive routes.
struct Routes {
  u32 expert[kRoutes];  // kNone: no route
  u32 rank[kRoutes];
};

// The i-th route of this lane, of those that begin at `first`.
QUERN_DEVICE u32 route_at(u32 first, int i) { return first + static_cast<u32>(i) * 32 + lane(); }

QUERN_DEVICE Routes no_routes() {
  Routes routes = {};
#pragma unroll
  for (u32& expert : routes.expert) expert = kNone;
  return routes;
}

QUERN_DEVICE void clear_counters(const Params& p, const SharedWords& counters) {
  if (warp() < kCounters) {
#pragma unroll 1
    for (u32 e = lane(); e < p.experts; e += 32) counters.set(e, 0);
  }
  __syncwarp();
}

// Ranks the routes and counts them. The first lane of an expert adds up its lanes.
QUERN_DEVICE void rank(const SharedWords& counters, Routes& routes) {
  u32 same[kRoutes];
#pragma unroll
  for (int i = 0; i < kRoutes; ++i) {
    const u32 expert = routes.expert[i];
    same[i] = __match_any_sync(kAll, expert);
    if (expert != kNone && (same[i] & lanes_below()) == 0) routes.rank[i] = counters.add(expert, popc(same[i]));
    __syncwarp();
  }
#pragma unroll
  for (int i = 0; i < kRoutes; ++i) {
    const u32 before = __shfl_sync(kAll, routes.rank[i], __ffs(static_cast<int>(same[i])) - 1);
    routes.rank[i] = before + popc(same[i] & lanes_below());
  }
}

// The counters have the routes of earlier warps now.
QUERN_DEVICE void add_earlier_warps(const SharedWords& counters, Routes& routes) {
#pragma unroll
  for (int i = 0; i < kRoutes; ++i) {
    if (routes.expert[i] != kNone) routes.rank[i] += counters.get(routes.expert[i]);
  }
}

// Of this lane's expert, the routes of the block. Each counter becomes the number of routes in earlier warps.
QUERN_DEVICE u32 scan_counters(const Params& p, const ExpertLane& e) {
  constexpr u32 kOwn = (kCounters + kShares - 1) / kShares;
  u32 of_warp[kOwn], own = 0;
#pragma unroll
  for (u32 i = 0; i < kOwn; ++i) {
    const u32 w = e.share * kOwn + i;
    of_warp[i] = e.exists && w < kCounters ? counters_of_warp(p, w).get(e.expert) : 0;
    own += of_warp[i];
  }
  const u32 up_to = sum_up_to_share(own);
  u32 before = up_to - own;
#pragma unroll
  for (u32 i = 0; i < kOwn; ++i) {
    const u32 w = e.share * kOwn + i;
    if (e.exists && w < kCounters) counters_of_warp(p, w).set(e.expert, before);
    before += of_warp[i];
  }
  return of_last_share(up_to);
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_ROUTES_CUH_
