#include "mxfp8/parts.h"

#include <algorithm>

#include "base/random.h"
#include "common/host_types.h"

namespace quern::mxfp8 {
namespace {

// What the scales of one matrix take, in bytes.
std::int64_t scale_room(const Mxfp8& one, bool col) {
  const ScaleMatrix m = scales_of_direction(one, col);
  if (blocked(one)) return blocked_bytes(m);
  const std::int64_t squares = blocks_of(one, one.rows) * blocks_of(one, one.cols);
  return (one_scale_a_square(one) ? squares : m.lines * m.blocks) * scale_size(one);
}

std::vector<Part> experts(const Mxfp8& p) {
  Mxfp8 one = p;
  one.experts = 1;
  std::vector<Part> parts;
  for (std::int64_t e = 0; e < p.experts; ++e)
    parts.push_back({one, e * matrix_of(p).rows, e * p.rows, e * p.rows * p.cols, p.rows, e * scale_room(one, false),
                     e * scale_room(one, true)});
  return parts;
}

bool is_right(const Mxfp8& p, std::int64_t begin, std::int64_t end) {
  return end >= begin && end <= p.rows && (!has_whole_groups(p) || (end - begin) % block_length(p) == 0);
}

}  // namespace

std::vector<Part> parts_of(const Mxfp8& p, const Mxfp8Args& a) {
  if (p.groups == 0) return experts(p);
  std::vector<Part> parts;
  Mxfp8 one = p;
  one.groups = 0;
  std::int64_t begin = 0, row_scales = 0, col_scales = 0;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::int64_t end = common::read_integer(p.offset, a.offsets.data, g);
    if (!is_right(p, begin, end)) {
      *static_cast<std::int32_t*>(a.status.data) = static_cast<std::int32_t>(g + 1);
      return {};
    }
    one.rows = end - begin;
    parts.push_back({one, begin, begin, begin, p.rows, row_scales, col_scales});
    row_scales += scale_room(one, false);
    col_scales += scale_room(one, true);
    begin = end;
  }
  return parts;
}

void generate_offsets(const Mxfp8& p, std::uint64_t seed, void* data) {
  const std::int64_t step = has_whole_groups(p) ? block_length(p) : 1, steps = p.rows / step;
  std::vector<std::int64_t> ends;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(g));
    const std::int64_t last = ends.empty() ? 0 : ends.back();
    const bool empty = random % 4 == 0;
    ends.push_back(empty ? last : static_cast<std::int64_t>(random >> 8) % (steps + 1));
  }
  std::sort(ends.begin(), ends.end());
  for (std::int64_t g = 0; g < p.groups; ++g)
    common::write_integer(p.offset, data, g, ends[static_cast<std::size_t>(g)] * step);
}

}  // namespace quern::mxfp8
