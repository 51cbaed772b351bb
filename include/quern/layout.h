// The memory of one operand of a family.
#ifndef QUERN_LAYOUT_H_
#define QUERN_LAYOUT_H_

#include <cstdint>

#include "quern/dtype.h"

namespace quern {

// The memory of one operand: an element for each index, `strides` elements apart in each dimension, in any order.
// Elements of inputs may coincide (a stride of 0 repeats them; rows of several matrices may be interleaved); elements
// of other operands must not.
inline constexpr int kMaxRank = 5;
struct Layout {
  DType dtype = DType::none;  // none: this problem has no such operand, for any value of its open extents
  int rank = 0;
  std::int64_t extents[kMaxRank];  // in the documented order: [experts, rows, cols]; unspecified beyond the rank
  std::int64_t strides[kMaxRank];  // 0 and more

  // The three functions below do not initialize extents and strides beyond the rank: a launch asks for each operand's
  // layout, and clearing all of it costs 2 ns.

  // Elements without gaps.
  static Layout list(DType dtype, std::int64_t count) {
    Layout layout;
    layout.dtype = dtype;
    layout.rank = 1;
    layout.extents[0] = count;
    layout.strides[0] = 1;
    return layout;
  }
  // Contiguous rows, `row_stride` elements apart.
  static Layout matrix(DType dtype, std::int64_t rows, std::int64_t width, std::int64_t row_stride) {
    Layout layout;
    layout.dtype = dtype;
    layout.rank = 2;
    layout.extents[0] = rows;
    layout.extents[1] = width;
    layout.strides[0] = row_stride;
    layout.strides[1] = 1;
    return layout;
  }
  // Matrices of such rows, `matrix_stride` elements apart.
  static Layout matrices(DType dtype, std::int64_t count, std::int64_t rows, std::int64_t width,
                         std::int64_t matrix_stride, std::int64_t row_stride) {
    Layout layout;
    layout.dtype = dtype;
    layout.rank = 3;
    layout.extents[0] = count;
    layout.extents[1] = rows;
    layout.extents[2] = width;
    layout.strides[0] = matrix_stride;
    layout.strides[1] = row_stride;
    layout.strides[2] = 1;
    return layout;
  }

  // Whether an extent is not known yet.
  constexpr bool open() const {
    for (int d = 0; d < rank; ++d) {
      if (extents[d] < 0) return true;
    }
    return false;
  }
  constexpr std::int64_t elements() const {
    std::int64_t all = rank == 0 ? 0 : 1;
    for (int d = 0; d < rank; ++d) all *= extents[d];
    return all;
  }
  // Bytes from the first one to the last one: 0 for an empty operand or an open extent, -1 if the number does not fit
  // in 64 bits.
  constexpr std::int64_t span_bytes() const {
    if (dtype == DType::none) return 0;
    std::int64_t last = 0;  // where the last element is
    bool fits = true;
    for (int d = 0; d < rank; ++d) {
      if (extents[d] <= 0) return 0;
      std::int64_t step = 0;
      fits = fits && !__builtin_mul_overflow(extents[d] - 1, strides[d], &step) &&
             !__builtin_add_overflow(last, step, &last);
    }
    std::int64_t span = 0;
    return fits && !__builtin_mul_overflow(last, std::int64_t{quern::bytes(dtype)}, &span) &&
                   !__builtin_add_overflow(span, std::int64_t{quern::bytes(dtype)}, &span)
               ? span
               : -1;
  }
};

}  // namespace quern

#endif  // QUERN_LAYOUT_H_
