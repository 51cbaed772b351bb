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

}  // namespace quern::common

#endif  // QUERN_COMMON_ELEMENTWISE_CUH_
