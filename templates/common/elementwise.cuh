// Functions of numbers that CUDA has no function for. NaN propagates through all of them.
#ifndef QUERN_COMMON_ELEMENTWISE_CUH_
#define QUERN_COMMON_ELEMENTWISE_CUH_

#include "common/device.cuh"

namespace quern::common {

// The lesser one, -0 being less than +0. A NaN is the GPU's.
QUERN_DEVICE float min_of(float x, float y) {
#ifdef __CUDA_ARCH__
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(x), "f"(y));
  return least;
#else
  if (x != x || y != y) return bit_cast<float>(0x7fffffffu);
  if (x == y) return bit_cast<float>(bit_cast<u32>(x) | bit_cast<u32>(y));
  return x < y ? x : y;
#endif
}

QUERN_DEVICE float max_of(float x, float y) {
#ifdef __CUDA_ARCH__
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(x), "f"(y));
  return most;
#else
  if (x != x || y != y) return bit_cast<float>(0x7fffffffu);
  if (x == y) return bit_cast<float>(bit_cast<u32>(x) & bit_cast<u32>(y));
  return x < y ? y : x;
#endif
}

// `most` where the limits are in the wrong order.
QUERN_DEVICE float clamp_to(float x, float least, float most) { return min_of(max_of(x, least), most); }

// 1, -1, or x itself: a zero with its sign, or NaN.
QUERN_DEVICE float sign_of(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

// 1 / sqrt(x).
QUERN_DEVICE float rsqrt_of(float x) {
#ifdef __CUDA_ARCH__
  return rsqrtf(x);
#else
  return 1.0f / sqrtf(x);
#endif
}

// Out of line on a GPU: a call for few numbers.
#ifdef __CUDA_ARCH__
inline __device__ __noinline__ float divided(float x, float y) { return x / y; }
#else
inline float divided(float x, float y) { return x / y; }
#endif

// x / y, where y is the same for many x, so that its reciprocal is computed once. The quotient is the product with the
// reciprocal, corrected by its remainder; the last rounding of that is the quotient's (Markstein). x is scaled by 2^64,
// so that neither is denormal. It takes y's sign, since only by a positive number the remainder, subtracted, keeps the
// sign of zeros. Where a denormal quotient was rounded from the middle between two, the product says nothing of which
// is nearer.
QUERN_DEVICE float divided_by_same(float x, float y) {
  constexpr float kUp = 0x1p64f, kDown = 0x1p-64f, kHalfOfLeast = 0x1p-86f;
  const float size = fabsf(y), reciprocal = 1.0f / size;
  const float scaled = bit_cast<float>(bit_cast<u32>(x) ^ (bit_cast<u32>(y) & 0x80000000u)) * kUp;
  const float first = scaled * reciprocal, remainder = fmaf(size, first, -scaled);
  const float second = fmaf(-remainder, reciprocal, first), quotient = second * kDown;
  const bool is_ordinary = size >= 0x1p-20f && size <= 0x1p30f && fabsf(x) <= 0x1p30f;
  return is_ordinary && fabsf(fmaf(quotient, -kUp, second)) != kHalfOfLeast ? quotient : divided(x, y);
}

// The same where x or y is not exact anyway: at most one unit in the last place from the quotient. Both are scaled
// where y's reciprocal would be denormal or overflow.
QUERN_DEVICE float nearly_divided_by_same(float x, float y) {
  const float size = fabsf(y), scale = size > 0x1p100f ? 0x1p-64f : size < 0x1p-100f ? 0x1p64f : 1.0f;
  return x * scale * (1.0f / (y * scale));
}

}  // namespace quern::common

#endif  // QUERN_COMMON_ELEMENTWISE_CUH_
