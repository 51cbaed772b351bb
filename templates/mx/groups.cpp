#include "mx/groups.h"

#include <algorithm>

#include "base/random.h"
#include "common/host_types.h"
#include "mx/scales.h"

namespace quern::mx {

std::vector<RowRange> read_groups(const Groups& groups, const void* offsets, void* status) {
  std::vector<RowRange> ranges;
  std::int64_t begin = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const std::int64_t end = common::read_integer(groups.offset, offsets, g);
    if (end < begin || end > groups.rows || (end - begin) % groups.step != 0) {
      *static_cast<std::int32_t*>(status) = static_cast<std::int32_t>(g + 1);
      return {};
    }
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

void generate_offsets(const Groups& groups, std::uint64_t seed, void* offsets) {
  const std::int64_t steps = groups.rows / groups.step;
  std::vector<std::int64_t> ends;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(g));
    const std::int64_t last = ends.empty() ? 0 : ends.back();
    const bool empty = random % 4 == 0;
    ends.push_back(empty ? last : static_cast<std::int64_t>(random >> 8) % (steps + 1));
  }
  std::sort(ends.begin(), ends.end());
  for (std::int64_t g = 0; g < groups.count; ++g)
    common::write_integer(groups.offset, offsets, g, ends[static_cast<std::size_t>(g)] * groups.step);
}

bool generate_control(std::string_view operand, const Groups& groups, std::uint64_t seed, void* data) {
  if (operand == "offsets") {
    generate_offsets(groups, seed, data);
  } else if (operand == "noop") {
    *static_cast<float*>(data) = seed % 3 == 0 ? 1.0F : 0.0F;
  } else if (operand == "status") {
    *static_cast<std::int32_t*>(data) = 0;
  } else if (operand == "given_scale") {
    *static_cast<float*>(data) = given_scale(seed);
  } else {
    return false;
  }
  return true;
}

}  // namespace quern::mx
