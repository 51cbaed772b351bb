#ifndef QUERN_COMMON_FP16_CUH_
#define QUERN_COMMON_FP16_CUH_

#include "common/minifloat.cuh"

namespace quern::common {

struct Fp16 {
  using Code = u16;
  using Pair = u32;
  using Twin = Minifloat<5, 10, 0x7bff, 0x7c00, 0x7fff>;
  u16 bits;

  static QUERN_DEVICE float decode(u16 code) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
    return value;
#else
    return Twin::decode(code);
#endif
  }

  static QUERN_DEVICE void decode2(u32 pair, float& lo, float& hi) {
    lo = decode(static_cast<u16>(pair));
    hi = decode(static_cast<u16>(pair >> 16));
  }

  static QUERN_DEVICE u32 encode2(float lo, float hi) {
#ifdef __CUDA_ARCH__
    u32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
    return pair;
#else
    return Twin::encode(lo) | Twin::encode(hi) << 16;
#endif
  }

  // As one of a pair: sm_90 has a fast conversion of two, and converts one at the rate of a reciprocal.
  static QUERN_DEVICE u16 encode(float value) { return static_cast<u16>(encode2(value, 0.0f)); }
};

}  // namespace quern::common

#endif  // QUERN_COMMON_FP16_CUH_
