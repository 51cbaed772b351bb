// Groups of rows, whose ends only the device knows. A warp walks over them 32 at a time.
#ifndef QUERN_MX_GROUPS_CUH_
#define QUERN_MX_GROUPS_CUH_

#include "common/reduce.cuh"
#include "common/shared.cuh"
#include "common/vector.cuh"

namespace quern::mx {

using namespace common;

QUERN_DEVICE i64 last_lane(i64 v) { return __shfl_sync(0xffffffffu, v, 31); }

// The groups as the device gets them. `whole`: the rows of each must be whole blocks of 32.
template <class OffsetType, bool kWhole>
struct GroupEnds {
  using Offset = OffsetType;
  static constexpr bool whole = kWhole;
  const void* offsets;
  int* status;
  i64 rows;  // no group ends after them
  u32 count;
};

// A lane's group; lanes beyond the last group have empty ones.
struct Group {
  i64 start;
  i64 rows;
  bool wrong;  // it ends before it starts or after the last row, or has a partial block that is not allowed
};

template <class Ends>
QUERN_DEVICE Group group_of(const Ends& ends, u32 index, i64 end_before) {
  const u32 g = index < ends.count ? index : ends.count - 1;
  using Offset = typename Ends::Offset;
  const auto* const offsets = static_cast<const Offset*>(ends.offsets);
  const i64 end = static_cast<i64>(bit_cast<Offset>(load<sizeof(Offset)>(offsets + g)));
  const i64 below = __shfl_up_sync(0xffffffffu, end, 1);
  const i64 start = threadIdx.x % 32 == 0 ? end_before : below;
  const bool inside = end >= start && end <= ends.rows;  // before a difference that might wrap
  const i64 rows = inside ? end - start : 0;
  return {start, rows, !inside || (Ends::whole && rows % 32 != 0)};
}

// Calls body(group) in all lanes for 32 groups at a time. Returns whether all are valid; if not, *status is 1 + the
// number of the first invalid one.
template <class Ends, class Body>
QUERN_DEVICE bool for_groups(const Ends& ends, const Body& body) {
  i64 end = 0;
  for (u32 first = 0; first < ends.count; first += 32) {
    const Group group = group_of(ends, first + threadIdx.x % 32, end);
    if (const u32 wrong = __ballot_sync(0xffffffffu, group.wrong); wrong != 0) {
      const u32 lowest = static_cast<u32>(__ffs(static_cast<int>(wrong))) - 1;
      if (blockIdx.x == 0 && threadIdx.x == lowest) store<4>(ends.status, Vector<4>{{first + lowest + 1}});
      return false;
    }
    body(group);
    end = last_lane(group.start + group.rows);
  }
  return true;
}

// The number of rows that are in a group; 0 if a group is invalid.
template <class Ends>
QUERN_DEVICE i64 rows_in_groups(const Ends& ends) {
  i64 end = 0;
  const bool right = for_groups(ends, [&](const Group& group) { end = last_lane(group.start + group.rows); });
  return right ? end : 0;
}

// The group that a block works on, and its unit of it. Counts are of all groups before it.
struct GroupPlace {
  i64 rows;
  i64 start;
  i64 unit;           // the block's, of the group
  i64 blocks;         // across rows
  i64 padded_rows;    // to whole atoms
  i64 padded_blocks;  // to whole atoms
};

// In shared memory, to save registers.
constexpr int kGroupNumbers = 7;
QUERN_DEVICE void put_number(u8* numbers, int i, i64 number) {
  store_shared<8>(numbers + i * 8, bit_cast<Vector<8>>(number));
}
QUERN_DEVICE i64 number_at(const u8* numbers, int i) { return bit_cast<i64>(load_shared<8>(numbers + i * 8)); }

QUERN_DEVICE GroupPlace group_place(const u8* numbers) {
  return {number_at(numbers, 0), number_at(numbers, 1), number_at(numbers, 2),
          number_at(numbers, 3), number_at(numbers, 4), number_at(numbers, 5)};
}

enum class Search { wrong, behind, found };  // behind: all groups

// By one warp: finds the group of unit `unit` of all units; a group has `units_of(rows)` units. Returns whether there
// is one.
template <class Ends, class Units>
QUERN_DEVICE Search put_group(const Ends& ends, i64 unit, u8* numbers, const Units& units_of) {
  i64 units = 0, blocks = 0, padded_rows = 0, padded_blocks = 0;  // of the groups before
  bool found = false;
  const bool right = for_groups(ends, [&](const Group& group) {
    const i64 own = units_of(group.rows), own_blocks = (group.rows + 31) / 32;
    const i64 own_rows = (group.rows + 127) / 128 * 128, own_padded = (own_blocks + 3) / 4 * 4;
    const i64 units_then = units + warp_prefix_sum(own), blocks_then = blocks + warp_prefix_sum(own_blocks);
    const i64 rows_then = padded_rows + warp_prefix_sum(own_rows),
              padded_then = padded_blocks + warp_prefix_sum(own_padded);
    if (unit < units_then && unit >= units_then - own) {
      const i64 place[] = {group.rows,
                           group.start,
                           unit - (units_then - own),
                           blocks_then - own_blocks,
                           rows_then - own_rows,
                           padded_then - own_padded};
#pragma unroll
      for (int i = 0; i < 6; ++i) put_number(numbers, i, place[i]);
      found = true;
    }
    units = last_lane(units_then);
    blocks = last_lane(blocks_then);
    padded_rows = last_lane(rows_then);
    padded_blocks = last_lane(padded_then);
  });
  if (!right) return Search::wrong;
  return __any_sync(0xffffffffu, found) ? Search::found : Search::behind;
}

// By all threads of a block.
template <class Ends, class Units>
QUERN_DEVICE Search find_group(const Ends& ends, i64 unit, u8* numbers, const Units& units_of) {
  if (threadIdx.x < 32) {
    const Search search = put_group(ends, unit, numbers, units_of);
    if (threadIdx.x == 0) put_number(numbers, 6, static_cast<i64>(search));
  }
  __syncthreads();
  return static_cast<Search>(number_at(numbers, 6));
}

}  // namespace quern::mx

#endif  // QUERN_MX_GROUPS_CUH_
