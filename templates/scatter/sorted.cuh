// The positions of index in the order of the rows that they name, `order`. Equal ones are a segment.
#ifndef QUERN_SCATTER_SORTED_CUH_
#define QUERN_SCATTER_SORTED_CUH_

#include "scatter/lanes.cuh"

namespace quern::scatter {

// Rows before and after all of out: of places in the order that it does not have; skipped indices are last too.
constexpr i64 kBeforeAll = -1, kAfterAll = 0x7fffffffffffffff;

QUERN_DEVICE bool is_row(i64 row) { return row >= 0 && row != kAfterAll; }

QUERN_DEVICE u64 position_at(const Params& p, i64 place) { return load<4, LoadHint::keep>(p.order + place).w[0]; }

// The row at a place in the order.
QUERN_DEVICE i64 row_at(const Params& p, i64 place) {
  if (place < 0) return kBeforeAll;
  if (place >= p.count) return kAfterAll;
  const i64 row = index_at(p, position_at(p, place));
  if constexpr (spec::skips) return row < 0 || row >= p.rows ? kAfterAll : row;
  return row;
}

// The first place in [begin, end) whose row is at least this one; end if there is none. By a group of threads, each of
// which looks at one place at a time.
QUERN_DEVICE i64 first_at_least(const Params& p, i64 row, i64 begin, i64 end) {
#pragma unroll 1
  while (begin < end) {
    const i64 step = (end - begin + kLanes - 1) / kLanes, place = begin + lane() % kLanes * step;
    const bool less = place < end && row_at(p, place) < row;
    const int before = __popc(__ballot_sync(mask_of_group(), less));
    if (before == 0) return begin;
    const i64 last = begin + (before - 1) * step;
    begin = last + 1;
    if (last + step < end) end = last + step;
  }
  return begin;
}

// Where a segment begins, by a bit for each place. A warp works on the first spec::positions places of a window.
struct Window {
  i64 first;         // place
  i64 row;           // at the lane's place, first + lane
  i64 before;        // at the place before
  u64 heads;         // of 64 places from the first on
  u32 heads_before;  // of the 32 before, but not known of the first of them
};

constexpr u32 kOwnPlaces = spec::positions == 32 ? 0xffffffffu : (1u << spec::positions) - 1;

QUERN_DEVICE i64 row_below(i64 row, i64 of_first) {
  const i64 below = __shfl_up_sync(0xffffffffu, row, 1);
  return lane() == 0 ? of_first : below;
}

// Copies need the neighbors of the window only.
QUERN_DEVICE Window window_at(const Params& p, i64 first) {
  const i64 place = first + lane(), row = row_at(p, place);
  const i64 lower = spec::adds || lane() == 31 ? row_at(p, place - 32) : kBeforeAll;
  const i64 upper = spec::adds || lane() == 0 ? row_at(p, place + 32) : kAfterAll;
  const i64 before = row_below(row, __shfl_sync(0xffffffffu, lower, 31));
  const i64 before_upper = row_below(upper, __shfl_sync(0xffffffffu, row, 31)), before_lower = row_below(lower, lower);
  const u32 own = __ballot_sync(0xffffffffu, row != before), next = __ballot_sync(0xffffffffu, upper != before_upper);
  return {first, row, before, own | static_cast<u64>(next) << 32, __ballot_sync(0xffffffffu, lower != before_lower)};
}

// The mask without its lowest `count` bits.
QUERN_DEVICE u32 without_lowest(u32 mask, u32 count) {
  for (u32 i = 0; i < count; ++i) mask &= mask - 1;
  return mask;
}

QUERN_DEVICE u32 lowest(u32 mask) { return static_cast<u32>(__ffs(static_cast<int>(mask))) - 1; }

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_SORTED_CUH_
