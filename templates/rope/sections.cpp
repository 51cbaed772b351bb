// The sections of a head: the axes of positions that pairs have, and their elements.
#include "rope/problem.h"

namespace quern::rope {

Section section_of(const Rope& p, std::int64_t j) {
  if (p.sections.count == 0) return {0, 0, rotary_dim(p) / 2};
  if (p.section_style == RopeSectionStyle::interleaved) {
    const auto axis = static_cast<int>(j % p.sections.count);
    return {j < p.sections[axis] * p.sections.count ? axis : 0, 0, rotary_dim(p) / 2};
  }
  Section section{0, 0, p.sections[0]};
  while (j >= section.begin + section.pairs && section.axis + 1 < p.sections.count) {
    section.begin += section.pairs;
    section.pairs = p.sections[++section.axis];
  }
  return section;
}

std::int64_t axis_run(const Rope& p) {
  if (p.section_style == RopeSectionStyle::interleaved) return 1;
  std::int64_t end = 0, all = 64;
  for (int i = 0; i + 1 < p.sections.count; ++i) {
    end += p.sections[i];
    all |= end;
  }
  return all & -all;
}

Elements elements_of(const Rope& p, std::int64_t j) {
  if (is_interleaved(p)) return {2 * j, 2 * j + 1};
  if (!is_apart(p)) return {j, j + rotary_dim(p) / 2};
  const Section section = section_of(p, j);
  return {section.begin + j, section.begin + j + section.pairs};
}

}  // namespace quern::rope
