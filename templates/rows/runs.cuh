// Places in sorted order, where equal rows are a segment: which segments begin in a warp's places, and their groups
// of 32.
//
// Params has `count`, and its namespace i64 row_at(p, place): kBeforeAll before the first place, kAfterAll from `count`
// on and for what is no row; it does not fall from one place to the next. The spec has positions and lanes.
#ifndef QUERN_ROWS_RUNS_CUH_
#define QUERN_ROWS_RUNS_CUH_

#include "rows/lanes.cuh"
#include "rows/segment_sums.cuh"

namespace quern::rows {

constexpr i64 kBeforeAll = -1, kAfterAll = 0x7fffffffffffffff;

QUERN_DEVICE bool is_row(i64 row) { return row >= 0 && row != kAfterAll; }

// Rows of a segment that are added in order.
struct Group {
  i64 first;  // place
  u32 count;  // up to kRowsOfGroup
};

// The first place in [begin, end) whose row is at least this one; end if there is none. By a group of threads, each of
// which looks at one place at a time.
template <class Params>
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
struct SortedWindow {
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

// `sums`: what is added up needs 32 places on both sides; copies only the neighbors of the window.
template <bool sums, class Params>
QUERN_DEVICE SortedWindow window_at(const Params& p, i64 first) {
  const i64 place = first + lane(), row = row_at(p, place);
  const i64 lower = sums || lane() == 31 ? row_at(p, place - 32) : kBeforeAll;
  const i64 upper = sums || lane() == 0 ? row_at(p, place + 32) : kAfterAll;
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

// The segment that a group at place `at` of a window belongs to, of more than one group. Its head is known.
template <class Params>
QUERN_DEVICE Segment segment_of(const Params& p, i64 head, const SortedWindow& window, u32 at) {
  const u64 later = window.heads >> (at + 1);
  if (later != 0) return {head, window.first + at + 64 - __clzll(static_cast<i64>(later & (0 - later)))};
  return {head, first_at_least(p, row_at(p, head) + 1, window.first + 64, p.count)};
}

// The head of the segment that began before the window.
template <class Params>
QUERN_DEVICE i64 head_of_first(const Params& p, const SortedWindow& window, i64 row) {
  if (window.heads_before != 0) return window.first - 1 - __clz(static_cast<int>(window.heads_before));
  return first_at_least(p, row, 0, window.first - 32);
}

// A mask of the window's own places that have a row.
QUERN_DEVICE u32 named_places(const SortedWindow& window) {
  return __ballot_sync(0xffffffffu, is_row(window.row)) & kOwnPlaces;
}

// Of those, where a segment of one or two places begins, which lanes of the warp have.
QUERN_DEVICE u32 short_segments(const SortedWindow& window) {
  const u32 one = static_cast<u32>(window.heads >> 1), two = static_cast<u32>(window.heads >> 2) & 0x7fffffffu;
  return static_cast<u32>(window.heads) & (one | two) & named_places(window);
}

// Whether no other segment begins in the window's own places, or continues in them.
QUERN_DEVICE bool has_only(const SortedWindow& window, u32 segments) {
  const u32 named = named_places(window), heads = static_cast<u32>(window.heads);
  return (heads & named & ~segments) == 0 && ((heads | ~named) & 1) != 0;
}

// Calls body(at, group, head) for the groups that begin in the window's own places, each by a group of threads. `head`:
// of the segment if it has more than one group, else -1. Groups begin at the heads of segments, and once at most in one
// that began before the window. `but`: a mask of heads that are left out.
template <class Params, class Body>
QUERN_DEVICE void for_groups(const Params& p, const SortedWindow& window, const Body& body, u32 but = 0) {
  const u32 named = named_places(window);
  const i64 row_of_first = __shfl_sync(0xffffffffu, window.row, 0);
  const u32 heads = static_cast<u32>(window.heads);
  i64 before = -1;
  u32 later = 0;  // a mask of the group that is not the first of its segment
  if ((heads & 1) == 0 && (named & 1) != 0) {
    before = head_of_first(p, window, row_of_first);
    const u32 at = static_cast<u32>(before - window.first) % kRowsOfGroup;
    if ((heads & ((2u << at) - 1)) == 0) later = 1u << at & kOwnPlaces;
  }
#pragma unroll 1
  for (u32 left = without_lowest((heads & named & ~but) | later, group_of_warp()); left != 0;
       left = without_lowest(left, kGroups)) {
    const u32 at = lowest(left), next = static_cast<u32>(window.heads >> (at + 1));
    const Group group = {window.first + at, next == 0 ? kRowsOfGroup : lowest(next) + 1};
    body(at, group, (later >> at & 1) != 0 ? before : next == 0 ? group.first : -1);
  }
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_RUNS_CUH_
