#ifndef QUERN_COMMON_E8M0_CUH_
#define QUERN_COMMON_E8M0_CUH_

#include "common/device.cuh"

namespace quern::common {

// The scale type of the OCP microscaling formats: 2^(bits - 127), no sign, no zero; 255 is NaN.
struct E8m0 {
  using Code = u8;
  u8 bits;

  static QUERN_DEVICE float decode(u8 code) {
    if (code == 0) return bit_cast<float>(0x00400000u);  // 2^-127 is a subnormal float
    return bit_cast<float>(code == 255 ? 0x7fffffffu : static_cast<u32>(code) << 23);
  }
};

// The smallest power of two that is not below |value|; 255 where there is none or `value` is not finite. Equals
// `cvt.rp.ue8m0x2.f32` without saturation; in integers on every architecture, since that costs four instructions.
QUERN_DEVICE E8m0 e8m0_ceil(float value) {
  const u32 magnitude = bit_cast<u32>(value) & 0x7fffffffu;
  if (magnitude >= 0x7f000000u) return {static_cast<u8>(magnitude == 0x7f000000u ? 254 : 255)};
  if (magnitude < 0x00800000u) return {static_cast<u8>(magnitude > 0x00400000u ? 1 : 0)};
  return {static_cast<u8>((magnitude + 0x7fffffu) >> 23)};
}

}  // namespace quern::common

#endif  // QUERN_COMMON_E8M0_CUH_
