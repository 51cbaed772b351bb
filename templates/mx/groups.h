// Groups of rows on the host: reading their ends in references, and generating them for tests.
#ifndef QUERN_MX_GROUPS_H_
#define QUERN_MX_GROUPS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/dtype.h"

namespace quern::mx {

struct Groups {
  std::int64_t count;
  std::int64_t rows;  // of all groups; there may be more rows after the last group
  std::int64_t step;  // a group's rows must be a multiple of it
  DType offset;       // of the ends: i32 or i64
};

struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};

// The rows of each group. Empty if a group is invalid; then *status, an int32, is 1 + its number.
std::vector<RowRange> read_groups(const Groups& groups, const void* offsets, void* status);

// Test data of the operands that control a launch, by name: offsets, noop, status and given_scale. False for others.
bool generate_control(std::string_view operand, const Groups& groups, std::uint64_t seed, void* data);

// Generates ends of groups: some groups are empty, and the last one does not always end with the last row.
void generate_offsets(const Groups& groups, std::uint64_t seed, void* offsets);

}  // namespace quern::mx

#endif  // QUERN_MX_GROUPS_H_
