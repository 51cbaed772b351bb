// What a row of a movement has, for the default config and for the launch.
#ifndef QUERN_MOE_MOVEMENT_ROWS_H_
#define QUERN_MOE_MOVEMENT_ROWS_H_

#include <algorithm>

#include "common/geometry.h"
#include "moe/movement.h"

namespace quern::moe {

inline bool has_gradient(const Movement& m) { return has_dots(m); }
inline std::int64_t element_bytes(const Movement& m) { return bytes(m.dtype); }
inline std::int64_t natural_vector(const Movement& m) { return common::common_alignment({row_bytes(m)}, 16); }
// Vectors of a block that shares a scale.
inline std::int64_t block_vectors(const Movement& m, std::int64_t vector) {
  return quantizes(m) ? std::max<std::int64_t>(1, block_length(m) * element_bytes(m) / vector) : 1;
}
// Whether the scales of a row that is quantized can be words of four bytes. Accesses of an element allow any address.
inline bool scales_fill_words(const Movement& m, std::int64_t vector) {
  return quantizes(m) && scale_type(m) == e8m0 && made_scales_of_row(m) % 4 == 0 && vector > element_bytes(m);
}

// Padding rows: only the device knows their number, so as many as there may be. An expert has `align` of them only with
// empty=fill, but a map made so may be used without saying it.
inline std::int64_t most_pads(const Movement& m) {
  if (!clears_pads(m)) return 0;
  return m.rules.list_tail ? capacity_of(m) : std::min(capacity_of(m), m.rules.experts * m.rules.align);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_MOVEMENT_ROWS_H_
