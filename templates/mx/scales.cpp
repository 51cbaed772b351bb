#include "mx/scales.h"

#include <cmath>

#include "base/random.h"

namespace quern::mx {

float given_scale(std::uint64_t seed) {
  static constexpr float kSpecials[] = {0.0F, -0.0F, HUGE_VALF, 0x1p-149F, 0x1p-127F, 0x1p127F, NAN, -3.0F};
  const std::uint64_t random = random_at(seed, 1);
  if (random % 4 == 0) return kSpecials[random >> 8 & 7];
  return std::ldexp(1.0F + static_cast<float>(random >> 40) * 0x1p-24F, static_cast<int>(random >> 8 & 15) - 8);
}

}  // namespace quern::mx
