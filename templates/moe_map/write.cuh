// Writes the routes of a warp. The spec includes one of ids.cuh and mask.cuh before.
#ifndef QUERN_MOE_MAP_WRITE_CUH_
#define QUERN_MOE_MAP_WRITE_CUH_

#include "common/sync.cuh"
#include "moe_map/rows.cuh"
#include "moe_map/stage.cuh"

namespace quern::moe_map {

// Fills TransformerEngine's map with -1, except for the last column, the number of a token's routes: list_routes writes
// that.
QUERN_DEVICE void clear_row_ids(const Params& p, const Tokens& tokens, const Slice& slice) {
  if constexpr (spec::row_id_map) {
    const u32 end = divide32(slice.end, p.by_topk);
#pragma unroll 1
    for (u32 token = divide32(slice.begin, p.by_topk); token < end; ++token)
      write_range(row_ids(p, tokens.first + token), i64{2} * p.experts, ~0u, 0, of_warp());
  }
}

// All lanes call. A dropped route stays -1: close_row_ids leaves it out.
QUERN_DEVICE void put_row_id(const Params& p, const Rows& rows, u64 token, u32 k, u32 expert, u32 row) {
  if constexpr (spec::row_id_map) {
    const u32 padding = rows.padding_before_warp_of(expert);
    if (expert == kNone || row >= p.capacity) return;
    put(row_ids(p, token) + k, row - padding - padding_before(p).get(expert));
    put(row_ids(p, token) + p.experts + k, expert);
  }
}

// Of one token. Its rows descend, so that the dropped routes are the first ones: -1. Moves the others to their place.
QUERN_DEVICE void close_row_ids_of(const Params& p, u32* rows) {
  const u32 count = load_relaxed(rows + 2 * p.experts);
  u32 dropped = 0;
#pragma unroll 1
  while (dropped < count && load_relaxed(rows + dropped) == ~0u) ++dropped;
  if (dropped == 0) return;
#pragma unroll 1
  for (u32 k = 0; k < count; ++k) {
    const bool kept = k + dropped < count;
    store_relaxed(rows + k, kept ? load_relaxed(rows + k + dropped) : ~0u);
    store_relaxed(rows + p.experts + k, kept ? load_relaxed(rows + p.experts + k + dropped) : ~0u);
  }
  store_relaxed(rows + 2 * p.experts, count - dropped);
}

// Removes dropped routes from the row_id_map of the warp's tokens, one token a lane. A reader of the map takes as many
// rows of a token as the last column says.
QUERN_DEVICE void close_row_ids(const Params& p, const Tokens& tokens, const Slice& slice, const Rows& rows) {
  if constexpr (spec::row_id_map) {
    if (rows.all.rows <= p.capacity) return;
    __syncwarp();
    const u32 end = divide32(slice.end, p.by_topk);
#pragma unroll 1
    for (u32 token = divide32(slice.begin, p.by_topk) + lane(); token < end; token += 32)
      close_row_ids_of(p, reinterpret_cast<u32*>(row_ids(p, tokens.first + token)));
  }
}

// Routes that begin at `first`, with their ranks in the block.
QUERN_DEVICE void write_step(const Params& p, const Tokens& tokens, const Rows& rows, u32 first, u32 end,
                             const Routes& routes) {
#pragma unroll
  for (int i = 0; i < kRoutes; ++i) {
    const u32 route = route_at(first, i), expert = routes.expert[i], of_block = divide32(route, p.by_topk);
    const u64 token = tokens.first + of_block, at = tokens.first * p.topk + route;
    u32 row = rows.rows_before_warp_of(expert) + routes.rank[i];
    if (expert != kNone) row += first_rows(p).get(expert);
    put_row_id(p, rows, token, route - of_block * p.topk, expert, row);
    if (route >= end) continue;
    const bool inside = expert != kNone && row < p.capacity;
    put(p.token_rows + at, inside ? row : ~0u);
    if constexpr (kListsRoutes) put(p.token_experts + at, expert);
    if (inside) put_row_token(p, row, static_cast<u32>(token));
  }
}

// `kept`: the routes of the slice, if it is kept; else they are read once more.
QUERN_DEVICE void write_routes(const Params& p, const Tokens& tokens, const Slice& slice, const Rows& rows,
                               Routes& kept) {
  const SharedWords counters = counters_of_warp(p, warp());
  if (slice.is_kept()) {
    add_earlier_warps(counters, kept);
    write_step(p, tokens, rows, slice.begin, slice.end, kept);
    return;
  }
  for_steps(p, tokens, slice, [&](u32 first, Routes& routes) {
    rank(counters, routes);
    write_step(p, tokens, rows, first, slice.end, routes);
  });
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_WRITE_CUH_
