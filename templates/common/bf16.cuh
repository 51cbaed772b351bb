#ifndef QUERN_COMMON_BF16_CUH_
#define QUERN_COMMON_BF16_CUH_

#include "common/minifloat.cuh"

namespace quern::common {

struct Bf16 {
  using Code = u16;
  using Pair = u32;
  using Twin = Minifloat<8, 7, 0x7f7f, 0x7f80, 0x7fff>;
  u16 bits;

  static QUERN_DEVICE float decode(u16 code) { return bit_cast<float>(static_cast<u32>(code) << 16); }

  static QUERN_DEVICE void decode2(u32 pair, float& lo, float& hi) {
    lo = bit_cast<float>(pair << 16);
    hi = bit_cast<float>(pair & 0xffff0000u);
  }

  static QUERN_DEVICE u32 encode2(float lo, float hi) {
#ifdef __CUDA_ARCH__
    u32 pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
    return pair;
#else
    return Twin::encode(lo) | Twin::encode(hi) << 16;
#endif
  }

  // As one of a pair: sm_90 has a fast conversion of two, and converts one at the rate of a reciprocal.
  static QUERN_DEVICE u16 encode(float value) { return static_cast<u16>(encode2(value, 0.0f)); }
};

}  // namespace quern::common

#endif  // QUERN_COMMON_BF16_CUH_
