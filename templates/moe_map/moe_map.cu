// The kernel. The spec includes one of ids.cuh and mask.cuh, which read the routes.
#include "moe_map/params.h"
#include "spec.cuh"

#include "moe_map/pads.cuh"
#include "moe_map/write.cuh"

static_assert(sizeof(quern::moe_map::Params) == quern::spec::params_bytes, "host and device disagree about Params");

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
  if (blockIdx.x == 0) write_counts(p, expert, rows, kListsRoutes && warp() == 0 ? dropped_of_all(p) : 0);
  write_pads(p, expert, rows.expert);
  write_tail(p, rows.all);
  write_stage(p);
  clear_table(p, ended);
}

}  // namespace quern::moe_map

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_moe_map(const __grid_constant__ quern::moe_map::Params params) {
  quern::moe_map::map_tokens(params);
}
