// The axes of positions that pairs have.
#include "rope/problem.h"

namespace quern::rope {

int axis_of(const Rope& p, std::int64_t j) {
  if (p.sections.count == 0) return 0;
  if (p.section_order == RopeSectionOrder::interleaved) {
    const auto axis = static_cast<int>(j % p.sections.count);
    return j < p.sections[axis] * p.sections.count ? axis : 0;
  }
  int axis = 0;
  for (std::int64_t end = p.sections[0]; j >= end && axis + 1 < p.sections.count; end += p.sections[axis]) ++axis;
  return axis;
}

std::int64_t axis_run(const Rope& p) {
  if (p.section_order == RopeSectionOrder::interleaved) return 1;
  std::int64_t end = 0, all = 64;
  for (int i = 0; i + 1 < p.sections.count; ++i) {
    end += p.sections[i];
    all |= end;
  }
  return all & -all;
}

}  // namespace quern::rope
