// Groups of rows on the host: their ends as references read them and as tests make them up.
#ifndef QUERN_MX_GROUPS_H_
#define QUERN_MX_GROUPS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/dtype.h"

namespace quern::mx {

struct Groups {
  std::int64_t count;
  std::int64_t rows;  // of all, and perhaps some more after the last group
  std::int64_t step;  // a group's rows must be a multiple of it
  DType offset;       // of the ends: i32 or i64
};

struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};

// The rows of each group. None if one is wrong; 1 + its number is then in *status, an int32.
std::vector<RowRange> read_groups(const Groups& groups, const void* offsets, void* status);

// Test data of the operands that say what a launch is to do, by name: offsets, noop, status and given_scale. False for
// others.
bool generate_control(std::string_view operand, const Groups& groups, std::uint64_t seed, void* data);

// Ends of groups: some groups are empty, and the last one does not always end with the last row.
void generate_offsets(const Groups& groups, std::uint64_t seed, void* offsets);

}  // namespace quern::mx

#endif  // QUERN_MX_GROUPS_H_
