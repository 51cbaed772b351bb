#ifndef QUERN_COMMON_DIVIDE_CUH_
#define QUERN_COMMON_DIVIDE_CUH_

#include "common/device.cuh"

namespace quern::common {

// Division by a number that is constant during a launch, as one high multiplication and a shift. The host makes it, a
// kernel takes it as a parameter. With l = ceil(log2 d) and m = ceil(2^(B-1+l) / d) < 2^B, floor(n / d) is exactly
// (2n * m) >> (B + l) for every n < 2^(B-1), as m * d exceeds 2^(B-1+l) by less than d <= 2^l.
struct Divisor {
  u64 magic;    // B = 64; 0 if d > 2^63
  u32 magic32;  // B = 32; 0 if d >= 2^31, which makes every 32-bit quotient 0
  u32 shift;    // l
};

// For numbers below 2^31 only: half as many bytes, and cheaper to make.
struct Divisor32 {
  u32 magic;
  u32 shift;
};

#ifndef __CUDA_ARCH__
__extension__ using u128 = unsigned __int128;

// For d >= 1; with 0 quotients are 0.
constexpr Divisor32 make_divisor32(u64 d) {
  if (d == 0 || d >= u64{1} << 31) return {0, 31};
  if ((d & (d - 1)) == 0) return {u32{1} << 31, static_cast<u32>(__builtin_ctzll(d))};
  const u32 shift = 63 - static_cast<u32>(__builtin_clzll(2 * d - 1));
  return {static_cast<u32>(((u64{1} << (31 + shift)) + d - 1) / d), shift};
}

// For d >= 1.
constexpr Divisor make_divisor(u64 d) {
  const u32 shift = d > u64{1} << 63 ? 63 : d == 1 ? 0 : 64 - static_cast<u32>(__builtin_clzll(d - 1));
  if (d >= u64{1} << 31) {
    const u64 magic = d > u64{1} << 63 ? 0 : static_cast<u64>(((u128{1} << (63 + shift)) + d - 1) / d);
    return {magic, 0, shift};
  }
  if ((d & (d - 1)) == 0) return {u64{1} << 63, u32{1} << 31, shift};
  // By halves of 32 bits: two divisions of 64 bits cost a launch less than one of 128. The first one gives magic32 too.
  const u64 power = u64{1} << (31 + shift), high = power / d, rest = power % d;
  return {(high << 32) + ((rest << 32) + d - 1) / d, static_cast<u32>(high) + 1, shift};
}
#endif

// floor(n / d) for n < 2^63.
QUERN_DEVICE u64 divide(u64 n, const Divisor& d) {
#ifdef __CUDA_ARCH__
  u64 high;
  asm("mul.hi.u64 %0, %1, %2;" : "=l"(high) : "l"(n << 1), "l"(d.magic));
#else
  const u64 high = static_cast<u64>((static_cast<u128>(n << 1) * d.magic) >> 64);
#endif
  return high >> d.shift;
}

// floor(n / d) for n < 2^31.
QUERN_DEVICE u32 divide32(u32 n, const Divisor32& d) {
#ifdef __CUDA_ARCH__
  u32 high;
  asm("{ .reg .u32 t; mul.hi.u32 t, %1, %2; shr.u32 %0, t, %3; }"
      : "=r"(high)
      : "r"(n << 1), "r"(d.magic), "r"(d.shift));
  return high;
#else
  return static_cast<u32>((static_cast<u64>(n << 1) * d.magic) >> 32) >> (d.shift & 31u);
#endif
}
QUERN_DEVICE u32 divide32(u32 n, const Divisor& d) { return divide32(n, Divisor32{d.magic32, d.shift}); }

}  // namespace quern::common

#endif  // QUERN_COMMON_DIVIDE_CUH_
