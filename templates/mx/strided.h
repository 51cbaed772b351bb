// Matrices whose lines may lie apart, of experts that may lie apart or by turns: their memory and what is refused.
#ifndef QUERN_MX_STRIDED_H_
#define QUERN_MX_STRIDED_H_

#include <cstdint>
#include <string>

#include "quern/layout.h"

namespace quern::mx {

// In elements. `rows` lines of neighbours for each expert.
struct Strided {
  std::int64_t experts;
  std::int64_t rows;
  std::int64_t line;           // elements of a line
  std::int64_t stride;         // from a line to the next
  std::int64_t expert_stride;  // from an expert to the next; 0: those are contiguous
};

// What there is more, or less, from an expert's last line to the next expert's first than between lines. Asked for
// before the sizes are checked: what is too large may wrap.
inline std::int64_t expert_gap(const Strided& m) {
  const std::uint64_t all = static_cast<std::uint64_t>(m.rows) * static_cast<std::uint64_t>(m.stride);
  return m.expert_stride == 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(m.expert_stride) - all);
}

inline Layout strided_layout(DType type, const Strided& m) {
  const std::int64_t expert_stride = m.expert_stride == 0 ? m.rows * m.stride : m.expert_stride;
  return Layout::matrices(type, m.experts, m.rows, m.line, expert_stride, m.stride);
}

// "" or why a matrix called source, of whose numbers `widest` are a line of what is made, cannot be: its fields are
// source_stride and source_expert_stride. No product of some of its extents overflows if it can.
std::string check_strided(const Strided& source, std::int64_t widest);

// "" or why a dimension is not cut into whole blocks; an open one is asked for at the launch.
std::string check_whole_blocks(const char* field, std::int64_t extent, std::int64_t block, const char* what);

}  // namespace quern::mx

#endif  // QUERN_MX_STRIDED_H_
