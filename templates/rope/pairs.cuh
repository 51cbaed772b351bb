// The rotation of a unit's pairs.
#ifndef QUERN_ROPE_PAIRS_CUH_
#define QUERN_ROPE_PAIRS_CUH_

#include "rope/unit.cuh"

namespace quern::rope {

struct Values {
  Access low;
  Access high;
};

// The gradient is the transposed matrix: each sine changes sign and goes to the other element.
QUERN_DEVICE void rotate_pair(float& x0, float& x1, const Angles& angles, int pair) {
  const int first = first_angle(pair), second = second_angle(pair);
  const float sin0 = spec::conjugate ? -angles.sin[second] : angles.sin[first];
  const float sin1 = spec::conjugate ? -angles.sin[first] : angles.sin[second];
  const float out0 = fmaf(x0, angles.cos[first], -(x1 * sin0));
  x1 = fmaf(x1, angles.cos[second], x0 * sin1);
  x0 = out0;
}

QUERN_DEVICE void rotate_pairs(float (&low)[kElements], float (&high)[kElements], const Angles& angles) {
  QUERN_UNROLL for (int i = 0; i < kPairs; ++i) {
    if constexpr (kAcross) {
      rotate_pair(low[i], high[i], angles, i);
    } else {
      float* const x = i < kPairs / 2 ? low + 2 * i : high + 2 * i - kElements;
      rotate_pair(x[0], x[1], angles, i);
    }
  }
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_PAIRS_CUH_
