#include "interaction/shape.h"

#include "common/geometry.h"

namespace quern::interaction {

using common::divide_up;

bool may_be_whole(const Interaction& p) {
  const std::int64_t size = element_bytes(p), samples = source_stride(p) * size;
  if (is_lower(p)) return p.dim * size % 16 == 0 && samples % 16 == 0;
  if (is_upper(p)) return false;
  return is_backward(p) && numbers_of(p) * size % 16 == 0 && samples % 16 == 0 && out_stride(p) * size % 16 == 0;
}

bool dense_with_pairs(const Interaction& p) {
  return by_tensor_cores(p) && !is_backward(p) && p.dense != 0 && p.dense * element_bytes(p) <= 512;
}

std::int64_t warp_bytes(const Interaction& p, std::int64_t numbers, std::int64_t band) {
  const std::int64_t size = element_bytes(p);
  if (is_backward(p)) {
    const std::int64_t side = divide_up(p.features, band) * band;
    return side * (side * size + 16);
  }
  const std::int64_t numbers_staged = pairs_before(p, p.features) + (dense_with_pairs(p) ? p.dense : 0);
  const std::int64_t staged = 16 + divide_up(numbers_staged * size, 16) * 16;
  return by_tensor_cores(p) ? staged : p.features * (numbers + 4) * size + staged;
}

std::int64_t block_bytes(const Interaction& p) {
  const std::int64_t width = numbers_of(p);
  if (!is_backward(p)) return divide_up(width, 4) * 16;
  const std::int64_t band = std::int64_t{64} * 16 / element_bytes(p);  // two columns of 16 bytes in each lane
  return (2 * width + 8 * band) * 4;
}

std::int64_t row_accesses(const Interaction& p) { return divide_up(columns_of(p) * element_bytes(p), 16) + 1; }

}  // namespace quern::interaction
