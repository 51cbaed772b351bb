// The rows of each expert: how many, where they begin, and the arrays that tell it.
#ifndef QUERN_MOE_MAP_ROWS_CUH_
#define QUERN_MOE_MAP_ROWS_CUH_

#include "moe_map/ranges.cuh"

namespace quern::moe_map {

QUERN_DEVICE u32 padded(const Params& p, u32 count) {
  if (spec::fill_empty && count == 0) count = 1;
  return count == 0 ? 0 : (divide32(count - 1, p.by_align) + 1) * p.align;
}

// Of this lane's expert. The lanes of an expert have the same.
struct ExpertRows {
  u32 first;
  u32 routes;
  u32 rows;           // with padding
  u32 routes_before;  // of earlier experts
};

// Of all experts.
struct AllRows {
  u32 rows;
  u32 routes;
  u32 kept;  // routes within the capacity
};

// What the lanes of a warp know of the rows.
struct Rows {
  ExpertRows expert;
  AllRows all;
  u32 rows_of_warps;     // of the warps before the lane-th
  u32 padding_of_warps;  // of which padding

  // Of an expert's warp; all lanes call.
  QUERN_DEVICE u32 rows_before_warp_of(u32 expert) const {
    return __shfl_sync(kAll, rows_of_warps, static_cast<int>(expert / kWarpExperts % 32));
  }
  QUERN_DEVICE u32 padding_before_warp_of(u32 expert) const {
    return __shfl_sync(kAll, padding_of_warps, static_cast<int>(expert / kWarpExperts % 32));
  }
};

// Barriers are only needed where the routes exceed the capacity.
QUERN_DEVICE u32 kept_routes(const Params& p, const ExpertLane& e, const ExpertRows& rows, const AllRows& all) {
  if (all.rows <= p.capacity) return all.routes;
  const u32 own = least(rows.first + rows.routes, p.capacity) - least(rows.first, p.capacity);
  const u32 of_warp = __reduce_add_sync(kAll, e.first() ? own : 0u);
  __syncthreads();
  if (lane() == 0) sums_of_warps(0).set(warp(), of_warp);
  __syncthreads();
  return __reduce_add_sync(kAll, lane() < kWarps ? sums_of_warps(0).get(lane()) : 0u);
}

// One barrier: each warp tells its sums, and adds up those of all. Leaves the first row of each expert in shared
// memory.
QUERN_DEVICE Rows place_experts(const Params& p, const ExpertLane& e, const Counted& count) {
  const u32 rows = e.exists ? padded(p, count.all) : 0;
  const u32 routes_up_to = sum_up_to_expert(count.all), rows_up_to = sum_up_to_expert(rows);
  if (e.first()) {
    first_rows(p).set(e.expert, rows_up_to - rows + count.before);
    if constexpr (spec::row_id_map) padding_before(p).set(e.expert, (rows_up_to - rows) - (routes_up_to - count.all));
  }
  if (lane() == kWarpExperts - 1) {
    sums_of_warps(0).set(warp(), routes_up_to);
    sums_of_warps(1).set(warp(), rows_up_to);
  }
  __syncthreads();
  const u32 routes_of_lane = lane() < kWarps ? sums_of_warps(0).get(lane()) : 0;
  const u32 rows_of_lane = lane() < kWarps ? sums_of_warps(1).get(lane()) : 0;
  const u32 routes_to_lane = warp_prefix_sum(routes_of_lane), rows_to_lane = warp_prefix_sum(rows_of_lane);
  const u32 routes_before_lane = routes_to_lane - routes_of_lane, rows_before_lane = rows_to_lane - rows_of_lane;
  const auto own_warp = static_cast<int>(warp());
  const ExpertRows expert = {__shfl_sync(kAll, rows_before_lane, own_warp) + rows_up_to - rows, count.all, rows,
                             __shfl_sync(kAll, routes_before_lane, own_warp) + routes_up_to - count.all};
  AllRows all = {__shfl_sync(kAll, rows_to_lane, 31), __shfl_sync(kAll, routes_to_lane, 31), 0};
  all.kept = kept_routes(p, e, expert, all);
  return {expert, all, rows_before_lane, rows_before_lane - routes_before_lane};
}

QUERN_DEVICE u32 pad_count(const Params& p, const AllRows& all) {
  return (spec::list_tail ? p.capacity : least(all.rows, p.capacity)) - all.kept;
}

template <class T>
QUERN_DEVICE void put_count(void* counts, u32 at, u32 count) {
  store<sizeof(T)>(static_cast<T*>(counts) + at, bit_cast<Vector<sizeof(T)>>(static_cast<T>(count)));
}

// By one block. `dropped`: in thread 0, routes beyond the topk-th of their token.
QUERN_DEVICE void write_counts(const Params& p, const ExpertLane& e, const Rows& rows, u32 dropped) {
  using Offset = spec::Offset;
  if (e.first()) {
    put_count<Offset>(p.counts, e.expert, rows.expert.routes);
    put_count<Offset>(p.offsets, e.expert, rows.expert.first);
    if constexpr (spec::sizes) put_count<Offset>(p.sizes, e.expert, rows.expert.rows);
  }
  if (threadIdx.x != 0) return;
  put_count<Offset>(p.offsets, p.experts, rows.all.rows);
  put(p.totals, rows.all.rows);
  put(p.totals + 1, spec::pads ? pad_count(p, rows.all) : 0);
  put(p.totals + 2, rows.all.routes - rows.all.kept + dropped);
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_ROWS_CUH_
