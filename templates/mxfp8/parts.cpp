#include "mxfp8/parts.h"

namespace quern::mxfp8 {
namespace {

std::vector<Part> experts(const Mxfp8& p) {
  Mxfp8 one = p;
  one.experts = 1;
  const std::int64_t pitch = pitch_of(p, true);
  std::vector<Part> parts;
  for (std::int64_t e = 0; e < p.experts; ++e)
    parts.push_back({one, e * matrix_of(p).rows, e * p.rows, e * p.cols * pitch, pitch, e * scale_room(one, false),
                     e * scale_room(one, true)});
  return parts;
}

}  // namespace

std::vector<Part> parts_of(const Mxfp8& p, const Mxfp8Args& a) {
  if (p.groups == 0) return experts(p);
  std::vector<Part> parts;
  Mxfp8 one = p;
  one.groups = 0;
  std::int64_t row_scales = 0, col_scales = 0;
  for (const mx::RowRange& rows : mx::read_groups(groups_of(p), a.offsets.data, a.status.data)) {
    one.rows = rows.end - rows.begin;
    parts.push_back({one, rows.begin, rows.begin, rows.begin, pitch_of(p, true), row_scales, col_scales});
    row_scales += scale_room(one, false);
    col_scales += scale_room(one, true);
  }
  return parts;
}

mx::Groups groups_of(const Mxfp8& p) { return {p.groups, p.rows, has_whole_groups(p) ? block_length(p) : 1, p.offset}; }

}  // namespace quern::mxfp8
