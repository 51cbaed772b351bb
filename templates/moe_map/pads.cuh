// The padding rows of experts, and the unused rows after the last one.
#ifndef QUERN_MOE_MAP_PADS_CUH_
#define QUERN_MOE_MAP_PADS_CUH_

#include "moe_map/rows.cuh"

namespace quern::moe_map {

// The experts are divided among the blocks. The padding rows of an expert are written by the warp that has its lanes.
QUERN_DEVICE void write_pads(const Params& p, const ExpertLane& e, const ExpertRows& rows) {
  if (!spec::pads && is_staged(p)) return;
  const bool mine = e.first() && e.expert % gridDim.x == blockIdx.x && rows.rows != rows.routes;
  u32 left = __ballot_sync(kAll, static_cast<int>(mine));
#pragma unroll 1
  for (; left != 0; left &= left - 1) {
    const int from = __ffs(static_cast<int>(left)) - 1;
    const u32 first = __shfl_sync(kAll, rows.first + rows.routes, from);
    const u32 end = __shfl_sync(kAll, least(rows.first + rows.rows, p.capacity), from);
    const u32 routes_before = __shfl_sync(kAll, rows.routes_before + rows.routes, from);
    const i64 count = static_cast<i64>(end) - first;
    if (count <= 0) continue;
    if (!is_staged(p)) write_range(p.row_tokens + first, count, ~0u, 0, of_warp());
    if constexpr (spec::pads) write_range(p.pads + (first - routes_before), count, first, 1, of_warp());
  }
}

// The unused rows, and the rest of `pads`.
QUERN_DEVICE void write_tail(const Params& p, const AllRows& all) {
  const i64 unused = static_cast<i64>(p.capacity) - all.rows;
  if (unused > 0) {
    if (!is_staged(p)) write_range(p.row_tokens + all.rows, unused, ~0u, 0, of_grid());
    if constexpr (spec::list_tail) write_range(p.pads + (all.rows - all.routes), unused, all.rows, 1, of_grid());
  }
  if constexpr (spec::pads) {
    const u32 listed = pad_count(p, all);
    write_range(p.pads + listed, static_cast<i64>(p.capacity) - listed, ~0u, 0, of_grid());
  }
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_PADS_CUH_
