// Strided matrices, whose lines may have gaps, of experts that may have gaps or be interleaved: their memory and their
// checks.
#ifndef QUERN_MX_STRIDED_H_
#define QUERN_MX_STRIDED_H_

#include <cstdint>
#include <string>

#include "quern/field.h"
#include "quern/layout.h"

namespace quern::mx {

// Sizes in elements. Each expert has `rows` lines of contiguous elements.
struct Strided {
  std::int64_t experts;
  std::int64_t rows;
  std::int64_t line;           // elements of a line
  std::int64_t stride;         // from a line to the next
  std::int64_t expert_stride;  // from an expert to the next; 0: experts are contiguous
};

// How much larger, or smaller, the distance from an expert's last line to the next expert's first is than `stride`.
// Called before the sizes are checked: values that are too large may wrap.
inline std::int64_t expert_gap(const Strided& m) {
  const std::uint64_t all = static_cast<std::uint64_t>(m.rows) * static_cast<std::uint64_t>(m.stride);
  return m.expert_stride == 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(m.expert_stride) - all);
}

inline Layout strided_layout(DType type, const Strided& m) {
  const std::int64_t expert_stride = m.expert_stride == 0 ? m.rows * m.stride : m.expert_stride;
  return Layout::matrices(type, m.experts, m.rows, m.line, expert_stride, m.stride);
}

// "" or the reason why the matrix `source` is refused; a line of the result has `widest` elements. The sentence names
// the fields source_stride and source_expert_stride. If the matrix is accepted, no product of its extents overflows.
std::string check_strided(const Strided& source, std::int64_t widest);

// Whether a dimension is a multiple of the block, a power of two; an open dimension is checked at the launch.
inline bool has_whole_blocks(std::int64_t extent, std::int64_t block) {
  return extent == kOpen || (extent & (block - 1)) == 0;
}
// Why it is refused if it is not.
std::string cut_block_text(const char* field, std::int64_t extent, std::int64_t block, const char* what);

}  // namespace quern::mx

#endif  // QUERN_MX_STRIDED_H_
