// How the rows of families that move them by an index are cut into accesses. Host code.
#ifndef QUERN_ROWS_SHAPE_H_
#define QUERN_ROWS_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "common/geometry.h"
#include "quern/family.h"

namespace quern::rows {

inline constexpr std::int64_t kMaxSlots = std::int64_t{1} << 30;   // of a row, see common::Slots
inline constexpr std::int64_t kMaxRowBytes = 16 * kMaxSlots - 32;  // fewer slots than that, wherever a row starts

// Whether an operand would have more than 2^46 elements, with the gaps between rows, so that no offset overflows.
// Extents of 0 and open ones count as 1.
inline bool is_too_large(std::initializer_list<std::int64_t> extents, std::int64_t stride) {
  std::int64_t all = std::max<std::int64_t>(1, stride);
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(all, std::max<std::int64_t>(1, extent), &all) || all > kMaxExtent) return true;
  }
  return false;
}

// Of rows of source and rows of out, of each of `outer` matrices.
inline std::string check_sizes(std::int64_t outer, std::int64_t rows, std::int64_t source_stride, std::int64_t out_rows,
                               std::int64_t out_stride) {
  if (!is_too_large({outer, rows}, source_stride) && !is_too_large({outer, out_rows}, out_stride)) return {};
  return "outer, rows, count and width are too large: an operand may have 2^46 elements, with the gaps between rows";
}

// In bytes.
struct Shape {
  std::int64_t row;
  std::int64_t element;
  std::int64_t source_stride;
  std::int64_t out_stride;
};

// The widest vector that divides the row length and both strides: the largest possible slot.
inline std::int64_t natural_vector(const Shape& s, std::int64_t limit) {
  return common::common_alignment({s.row, s.source_stride, s.out_stride}, limit);
}

// Slots per row: vectors, or 16-byte windows of out, where a row starts anywhere in its first one.
inline std::int64_t slots_per_row(const Shape& s, bool ragged, std::int64_t vector) {
  if (ragged) return (16 - s.element + s.row + 15) / 16;
  return (s.row + vector - 1) / vector;
}

// The first byte after source; null if its rows are not known or have gaps.
inline const std::byte* end_of_source(const Shape& s, const void* source, std::int64_t rows) {
  const bool known = rows > 0 && s.source_stride <= s.row;
  return known ? static_cast<const std::byte*>(source) + (rows - 1) * s.source_stride + s.row : nullptr;
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_SHAPE_H_
