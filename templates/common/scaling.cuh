#ifndef QUERN_COMMON_SCALING_CUH_
#define QUERN_COMMON_SCALING_CUH_

#include "common/numbers.cuh"
#include "common/scale_choices.h"

// Scales of blocks, of rows or of whole tensors: from the largest magnitude to the stored scale, and from that to
// the factor for elements. Formulas and edge cases of powers of two are those of the OCP Microscaling
// Formats 1.0 as torchao (`ao`) and TransformerEngine (`te`) implement them; templates/mxfp8/README.md has the table.
//
// A scaling (E8m0Scaling, Fp32Scaling) is a type parameter of a kernel:
//
//   static constexpr int kBytes                 of a stored scale
//   static u32 stored(u32 amax)                 its bits, from the fp32 bits of the largest magnitude
//   static float reciprocal(u32 stored)         the factor of elements

namespace quern::common {

using quern::ScaleMode;
using quern::ScalePolicy;

// How a scale is stored.
enum class ScaleFormat { e8m0, fp32 };

// The properties of an element type that scaling needs.
template <class Element>
struct ScaledElement;
template <>
struct ScaledElement<E4m3> {
  static constexpr u32 kMaxExponent = 8;  // 448 = 1.75 * 2^8
  static constexpr int kMantissaBits = 3;
};
template <>
struct ScaledElement<E5m2> {
  static constexpr u32 kMaxExponent = 15;  // 57344 = 1.75 * 2^15
  static constexpr int kMantissaBits = 2;
};

// Both 16-bit halves at once.
QUERN_DEVICE u32 max_halves(u32 a, u32 b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  u32 c;
  asm("max.u16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
#else
  const u32 low = (a & 0xffffu) > (b & 0xffffu) ? a & 0xffffu : b & 0xffffu;
  return low | ((a >> 16) > (b >> 16) ? a & 0xffff0000u : b & 0xffff0000u);
#endif
}

// The magnitudes of a 32-bit word's elements, as bits: those of numbers that are not negative order like integers, NaNs
// above infinity. A word of two 16-bit types holds two of them.
template <class T>
struct Magnitudes;

template <class T, u32 kInfinity>
struct HalfMagnitudes {
  static constexpr int kPerWord = 2;
  static QUERN_DEVICE u32 of(u32 word) { return word & 0x7fff7fffu; }
  static QUERN_DEVICE u32 larger(u32 a, u32 b) { return max_halves(a, b); }
  static QUERN_DEVICE u32 without_nans(u32 m) {
    return ((m & 0xffffu) > kInfinity ? 0 : m & 0xffffu) | ((m >> 16) > kInfinity ? 0 : m & 0xffff0000u);
  }
  // The largest of a word's, in the low half.
  static QUERN_DEVICE u32 fold(u32 m) { return max_halves(m, m >> 16) & 0xffffu; }
  // fp32's bits of a folded one.
  static QUERN_DEVICE u32 as_fp32(u32 m) { return bit_cast<u32>(T::decode(static_cast<u16>(m))); }
};
template <>
struct Magnitudes<Bf16> : HalfMagnitudes<Bf16, 0x7f80> {};
template <>
struct Magnitudes<Fp16> : HalfMagnitudes<Fp16, 0x7c00> {};
template <>
struct Magnitudes<float> {
  static constexpr int kPerWord = 1;
  static QUERN_DEVICE u32 of(u32 word) { return word & 0x7fffffffu; }
  static QUERN_DEVICE u32 larger(u32 a, u32 b) { return a > b ? a : b; }
  static QUERN_DEVICE u32 without_nans(u32 m) { return m > 0x7f800000u ? 0 : m; }
  static QUERN_DEVICE u32 fold(u32 m) { return m; }
  static QUERN_DEVICE u32 as_fp32(u32 m) { return m; }
};

// A word's magnitudes as the policy counts them.
template <class T, ScalePolicy P>
QUERN_DEVICE u32 magnitudes(u32 word) {
  const u32 m = Magnitudes<T>::of(word);
  if constexpr (P == ScalePolicy::te) return Magnitudes<T>::without_nans(m);
  return m;
}

// The number added to a magnitude's bits before its exponent is taken. For rceil: dividing by 1.75 * 2^n raises the
// exponent exactly where the mantissa is above 1.75's.
template <class Element, ScaleMode M>
QUERN_DEVICE constexpr u32 scale_bias() {
  if (M == ScaleMode::rceil) return 0x1fffff;
  if (M == ScaleMode::ceil) return 0x7fffff;
  if (M == ScaleMode::even) return 1u << (22 - ScaledElement<Element>::kMantissaBits);
  return 0;
}

// The E8M0 scale of a block, from the fp32 bits of its largest magnitude.
template <class Element, ScaleMode M, ScalePolicy P>
QUERN_DEVICE u32 scale_of(u32 amax) {
  constexpr u32 kDown = ScaledElement<Element>::kMaxExponent;
  const u32 exponent = (amax + scale_bias<Element, M>()) >> 23;
  u32 scale = exponent > kDown ? exponent - kDown : 0;
  // The product amax * (1 / 1.75 * 2^-n) is a subnormal here, and the reference rounds it to even, down.
  if (M == ScaleMode::rceil && amax == (kDown << 23 | 0x600001)) scale = 0;
  if (P == ScalePolicy::ao) return amax >= 0x7f800000u ? 255 : scale;
  return amax >= 0x7f800000u ? 254 : scale;
}

// 2^(127 - scale), exactly; NaN of 255.
QUERN_DEVICE float scale_reciprocal(u32 scale) {
  const u32 special = scale == 254 ? 0x00400000u : 0x7fffffffu;
  return bit_cast<float>(scale >= 254 ? special : (254 - scale) << 23);
}

template <class Element, ScaleMode M, ScalePolicy P>
struct E8m0Scaling {
  static constexpr int kBytes = 1;
  static QUERN_DEVICE u32 stored(u32 amax) { return scale_of<Element, M, P>(amax); }
  static QUERN_DEVICE float reciprocal(u32 scale) { return scale_reciprocal(scale); }
};

// amax divided by the largest element, 7 * 2^(kMaxExponent - 2), and rounded; at least the smallest normal number, so
// that its reciprocal is finite. The remainder of a division by 7 is exact, so one correction rounds as a division does
// (compared for every amax), instead of the compiler's division, which needs more cases and registers.
template <class Element>
QUERN_DEVICE u32 exact_scale(u32 amax) {
  constexpr float kSeventh = 1.0f / 7.0f, kDown = 1.0f / (1u << (ScaledElement<Element>::kMaxExponent - 2));
  const float x = bit_cast<float>(amax), near = x * kSeventh;
  const float scale = fmaf(fmaf(-7.0f, near, x), kSeventh, near) * kDown;
  const u32 bits = scale < 0x1p-126f ? 0x00800000u : bit_cast<u32>(scale);
  return amax >= 0x7f800000u ? 0x7fffffffu : bits;
}

// 1 / scale, rounded, for a scale of exact_scale: what a division compiles to if no value leaves the normal numbers.
// Correct rounding depends on the hardware: tests/device/scaling_test.cpp checks every scale.
QUERN_DEVICE float exact_reciprocal(float scale) {
#ifdef __CUDA_ARCH__
  float near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(scale));
  return fmaf(near, fmaf(-scale, near, 1.0f), near);
#else
  return 1.0f / scale;
#endif
}

// Of the bits of a power of two that an E8M0 scale stands for.
QUERN_DEVICE float power_reciprocal(u32 scale) {
  const u32 bits = scale == 0x00400000u ? 0x7f000000u : 0x7f000000u - scale;
  return bit_cast<float>(scale == 0x7fffffffu ? scale : bits);
}

// A block with a NaN or an infinity has the scale NaN.
template <class Element, ScaleMode M>
struct Fp32Scaling {
  static constexpr int kBytes = 4;
  static QUERN_DEVICE u32 stored(u32 amax) {
    if constexpr (M == ScaleMode::exact) return exact_scale<Element>(amax);
    return bit_cast<u32>(E8m0::decode(static_cast<u8>(scale_of<Element, M, ScalePolicy::ao>(amax))));
  }
  static QUERN_DEVICE float reciprocal(u32 scale) {
    if constexpr (M == ScaleMode::exact) return exact_reciprocal(bit_cast<float>(scale));
    return power_reciprocal(scale);
  }
};

// The elements of a vector, each multiplied by the factor and rounded once.
template <class Element, class Source, int N>
QUERN_DEVICE Vector<N> scaled_to(const Vector<N* static_cast<int>(sizeof(Source))>& vector, float factor) {
  float values[N];
  unpack<Source, N>(vector, values);
  QUERN_UNROLL for (int i = 0; i < N; ++i) values[i] *= factor;
  return pack<Element, N>(values);
}

template <ScaleFormat F, class Element, ScaleMode M, ScalePolicy P>
struct ScalingOf {
  using Type = E8m0Scaling<Element, M, P>;
};
template <class Element, ScaleMode M, ScalePolicy P>
struct ScalingOf<ScaleFormat::fp32, Element, M, P> {
  using Type = Fp32Scaling<Element, M>;
};

}  // namespace quern::common

#endif  // QUERN_COMMON_SCALING_CUH_
