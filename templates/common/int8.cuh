#ifndef QUERN_COMMON_INT8_CUH_
#define QUERN_COMMON_INT8_CUH_

#include "common/device.cuh"

namespace quern::common {

// An integer of 8 bits that stands for itself, as quantized tables have. It is only read.
struct Int8 {
  using Code = u8;
  using Pair = u16;
  u8 bits;

  static QUERN_DEVICE float decode(u8 code) { return static_cast<float>(static_cast<i8>(code)); }
  static QUERN_DEVICE void decode2(u16 pair, float& lo, float& hi) {
    lo = decode(static_cast<u8>(pair & 0xffu));
    hi = decode(static_cast<u8>(pair >> 8));
  }
};

}  // namespace quern::common

#endif  // QUERN_COMMON_INT8_CUH_
