#ifndef QUERN_COMMON_E5M2_CUH_
#define QUERN_COMMON_E5M2_CUH_

#include "common/fp16.cuh"

namespace quern::common {

// OCP FP8 E5M2: largest 57344. Decodes infinity, but conversion saturates: infinity becomes 57344, NaN becomes 0x7f.
struct E5m2 {
  using Code = u8;
  using Pair = u16;
  using Twin = Minifloat<5, 2, 0x7b, 0x7b, 0x7f>;
  u8 bits;

  static QUERN_DEVICE void decode2(u16 pair, float& lo, float& hi) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    u32 halves;
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
    Fp16::decode2(halves, lo, hi);
#else
    lo = Twin::decode(pair & 0xffu);
    hi = Twin::decode(static_cast<u32>(pair) >> 8);
#endif
  }

  static QUERN_DEVICE u16 encode2(float lo, float hi) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    u16 pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(hi), "f"(lo));
    return pair;
#else
    return static_cast<u16>(Twin::encode(lo) | Twin::encode(hi) << 8);
#endif
  }

  static QUERN_DEVICE float decode(u8 code) {
    float lo, hi;
    decode2(code, lo, hi);
    return lo;
  }

  static QUERN_DEVICE u8 encode(float value) { return static_cast<u8>(encode2(value, 0.0f)); }
};

}  // namespace quern::common

#endif  // QUERN_COMMON_E5M2_CUH_
