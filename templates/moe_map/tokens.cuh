// The kernel for a map of the routes of each token. The spec includes one of ids.cuh and mask.cuh, which read the
// routes, before it.
#ifndef QUERN_MOE_MAP_TOKENS_CUH_
#define QUERN_MOE_MAP_TOKENS_CUH_

#include "moe_map/exchange.cuh"
#include "moe_map/pads.cuh"
#include "moe_map/write.cuh"

namespace quern::moe_map {

// Counts the routes of the warp, and gives those of its last step.
QUERN_DEVICE Routes count_routes(const Params& p, const Tokens& tokens, const Slice& slice) {
  const SharedWords counters = counters_of_warp(p, warp());
  clear_counters(p, counters);
  Routes last = no_routes();
  const u32 dropped = for_steps(p, tokens, slice, [&](u32, Routes& routes) {
    rank(counters, routes);
    last = routes;
  });
  if constexpr (kListsRoutes) {
    const u32 of_warp = __reduce_add_sync(kAll, dropped);
    if (lane() == 0) sums_of_warps(2).set(warp(), of_warp);
  }
  return last;
}

QUERN_DEVICE void map_tokens(const Params& p) {
  const Tokens tokens = tokens_of_block(p);
  const Slice slice = slice_of_warp(p, tokens);
  const ExpertLane expert = expert_of_lane(p);
  clear_stage(p);
  Routes routes = count_routes(p, tokens, slice);
  __syncthreads();
  const u32 own = scan_counters(p, expert);
  publish(p, expert, own);
  if constexpr (kListsRoutes) publish_dropped(p);
  clear_row_ids(p, tokens, slice);
  const Rows rows = place_experts(p, expert, counted(p, expert, own));
  const u32 ended = end_reading(p);
  write_routes(p, tokens, slice, rows, routes);
  close_row_ids(p, tokens, slice, rows);
  if (blockIdx.x == 0) write_counts(p, expert, rows, kListsRoutes && warp() == 0 ? dropped_of_all(p) : 0);
  write_pads(p, expert, rows.expert);
  write_tail(p, rows.all);
  write_stage(p);
  clear_table(p, ended);
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_TOKENS_CUH_
