// Cosine and sine of an angle that is given in turns. The same bits on every device and on the host.
#ifndef QUERN_ROPE_TURNS_CUH_
#define QUERN_ROPE_TURNS_CUH_

#include "common/device.cuh"

namespace quern::rope {

using common::i32;
using common::i64;
using common::u32;
using common::u64;

// Of an angle of at most an eighth of a turn, in radians: Taylor's series. The next term of the sine is
// below 2^-29, that of the cosine below 2^-25.
QUERN_DEVICE float small_sine(float x) {
  const float y = x * x;
  const float z = fmaf(fmaf(fmaf(2.7557319e-6f, y, -1.9841270e-4f), y, 8.3333333e-3f), y, -1.6666667e-1f);
  return fmaf(x * y, z, x);
}
QUERN_DEVICE float small_cosine(float x) {
  const float y = x * x;
  return fmaf(fmaf(fmaf(fmaf(2.4801587e-5f, y, -1.3888889e-3f), y, 4.1666667e-2f), y, -0.5f), y, 1.0f);
}

// `turns` is the fraction of a turn, in units of 2^-64: whole turns have been lost without a rounding, so that the
// error does not grow with the angle. Within 2^-23 of the exact values.
QUERN_DEVICE void cosine_and_sine(u64 turns, float& cosine, float& sine) {
  const u32 quarter = static_cast<u32>((turns + (u64{1} << 61)) >> 62);  // the nearest
  const u64 rest = turns - (static_cast<u64>(quarter) << 62);            // from minus an eighth to an eighth
  constexpr float kHigh = 1.46291807926715968e-9f;                       // two pi, times 2^-32
  const float high = static_cast<float>(static_cast<i32>(rest >> 32)), low = static_cast<float>(static_cast<u32>(rest));
  const float x = fmaf(low, 0x1p-32f, high) * kHigh;
  const float c = small_cosine(x), s = small_sine(x);
  const bool odd = quarter % 2 == 1;
  cosine = odd ? s : c;
  sine = odd ? c : s;
  if (quarter == 1 || quarter == 2) cosine = -cosine;
  if (quarter >= 2) sine = -sine;
}

// An fp32 number is m 2^e with an integer m below 2^24, and so that many turns are m times the bits of 1 / (2 pi) from
// 2^-e on, in units of 2^-64: those before are whole turns. 192 bits reach to the largest number.
QUERN_DEVICE u64 turns_of(u32 mantissa, u32 shift) {
  constexpr u64 kBits[] = {0x28be60db9391054a, 0x7f09d5f47d4d3770, 0x36d8a5664f10e410};
  const u64 before = shift < 64 ? 0 : shift < 128 ? kBits[0] : kBits[1];
  const u64 here = shift < 64 ? kBits[0] : shift < 128 ? kBits[1] : kBits[2];
  const u32 inside = shift % 64;
  const u64 factor = inside == 0 ? before : before << inside | here >> (64 - inside);
  return mantissa * factor;
}

// Of an angle in radians. Within 2^-23 of the exact values, however large it is; NaN of infinities and NaN.
QUERN_DEVICE void cosine_and_sine_of(float radians, float& cosine, float& sine) {
  const u32 bits = common::bit_cast<u32>(radians), exponent = bits >> 23 & 255;
  const u32 mantissa = exponent == 0 ? 0 : (bits & 0x7fffff) | 0x800000;
  constexpr u32 kUnit = 86;  // of an exponent whose mantissa is in units of 2^-64
  const u64 turns = exponent <= kUnit ? 0 : turns_of(mantissa, exponent - kUnit);
  cosine_and_sine(bits >> 31 == 0 ? turns : 0 - turns, cosine, sine);
  if (exponent == 255) cosine = sine = common::bit_cast<float>(u32{0x7fffffff});
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_TURNS_CUH_
