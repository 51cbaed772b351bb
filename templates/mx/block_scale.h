// The scale of a block on the host, directly from the definitions, for references; and numbers that test its edges.
#ifndef QUERN_MX_BLOCK_SCALE_H_
#define QUERN_MX_BLOCK_SCALE_H_

#include <cstdint>
#include <cstring>

#include "common/host_types.h"
#include "common/scale_choices.h"
#include "quern/dtype.h"

namespace quern::mx {

// How a largest magnitude becomes a scale: templates/mxfp8/README.md has the tables.
struct ScaleRule {
  DType element;  // e4m3 or e5m2
  ScaleMode mode;
  ScalePolicy policy;
  bool fp32;  // stored as fp32; else an E8M0 byte
};

struct BlockScale {
  std::uint32_t stored;
  float reciprocal;  // the factor of elements
};

BlockScale scale_of_block(const ScaleRule& rule, float amax);
// A scale that the caller gives.
BlockScale fp32_scale(float scale);
// The larger magnitude; NaN if one is NaN, unless the policy ignores NaNs.
float larger_magnitude(ScalePolicy policy, float amax, float x);
// An element, x multiplied by its block's reciprocal.
std::uint8_t encode_element(DType element, float x);

// The bits of a number near 2^exponent; occasionally with a mantissa at a rounding boundary, or a special value.
std::uint32_t bits_near(int exponent, std::uint64_t random, bool special);

template <class T>
T number_near(int exponent, std::uint64_t random, bool special) {
  const std::uint32_t bits = bits_near(exponent, random, special);
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  if constexpr (sizeof(T) == 4) {
    return x;
  } else {
    return common::from_compute<T>(x);
  }
}

}  // namespace quern::mx

#endif  // QUERN_MX_BLOCK_SCALE_H_
