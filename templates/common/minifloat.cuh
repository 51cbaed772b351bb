#ifndef QUERN_COMMON_MINIFLOAT_CUH_
#define QUERN_COMMON_MINIFLOAT_CUH_

#include "common/device.cuh"

namespace quern::common {

// Conversions of small binary floats in integer arithmetic: a bit-exact emulation of the PTX `cvt` instructions.
// `kMax` is the code of the largest finite value, `kOver` the code of anything that rounds beyond it (infinity, or kMax
// where the conversion saturates), `kNan` the one NaN that is made. Infinity follows kMax, unless that is NaN already
// (e4m3).
template <int kExponentBits, int kMantissaBits, u32 kMax, u32 kOver, u32 kNan>
struct Minifloat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr u32 kInf = kMax + 1 != kNan ? kMax + 1 : ~0u;
  static constexpr int kDropped = 23 - kMantissaBits;
  static constexpr u32 kSignBit = 1u << (kExponentBits + kMantissaBits);
  static constexpr u32 kRebias = static_cast<u32>(127 - kBias) << 23;
  static constexpr u32 kMinNormal = kRebias + (1u << 23);

  // x / 2^shift to nearest, ties to even, for x < 2^31 and 0 < shift < 26.
  static QUERN_DEVICE u32 shift_to_even(u32 x, int shift) {
    return (x + ((1u << (shift - 1)) - 1u) + ((x >> shift) & 1u)) >> shift;
  }

  static QUERN_DEVICE u32 encode_subnormal(u32 magnitude) {
    const int exponent = static_cast<int>(magnitude >> 23);
    const u32 significand = exponent == 0 ? magnitude : (magnitude & 0x7fffffu) | 0x800000u;
    const int shift = kDropped + (128 - kBias) - (exponent == 0 ? 1 : exponent);
    return shift_to_even(significand, shift < 25 ? shift : 25);  // by 25 every significand gives zero
  }

  static QUERN_DEVICE u32 encode(float value) {
    const u32 bits = bit_cast<u32>(value), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return kNan;
    const u32 code =
        magnitude < kMinNormal ? encode_subnormal(magnitude) : shift_to_even(magnitude - kRebias, kDropped);
    return (bits >> 31) * kSignBit | (code > kMax ? kOver : code);
  }

  static QUERN_DEVICE float decode(u32 code) {
    const u32 sign = (code & kSignBit) != 0 ? 0x80000000u : 0u, magnitude = code & (kSignBit - 1u);
    if (magnitude > kMax) return bit_cast<float>(magnitude == kInf ? sign | 0x7f800000u : 0x7fffffffu);
    if (magnitude >> kMantissaBits != 0) return bit_cast<float>(sign | ((magnitude << kDropped) + kRebias));
    const float unit = bit_cast<float>(static_cast<u32>(128 - kBias - kMantissaBits) << 23);
    return bit_cast<float>(sign | bit_cast<u32>(static_cast<float>(magnitude) * unit));
  }
};

}  // namespace quern::common

#endif  // QUERN_COMMON_MINIFLOAT_CUH_
