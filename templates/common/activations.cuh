#ifndef QUERN_COMMON_ACTIVATIONS_CUH_
#define QUERN_COMMON_ACTIVATIONS_CUH_

#include "common/activation_table.h"
#include "common/numbers.cuh"

namespace quern::common {

using quern::Activation;

// What the rows of the table share.

// The `single` contract where the result is stored in 16 bits or fewer: an error of some fp32 units cannot be seen
// there.
struct NarrowStore : NoRounding {};

// How exact a result must be that is stored in `Bytes` bytes without a contract to follow.
template <int Bytes>
struct RoundingOf {
  using Type = NarrowStore;
};
template <>
struct RoundingOf<4> {
  using Type = NoRounding;
};

// numerator / denominator for a denominator of 1 or more. IEEE's in the `torch` contract; in `single` by a reciprocal
// of one unit's error, without the branch that exact division needs.
template <class Round>
QUERN_DEVICE float over(Round, float numerator, float denominator) {
  return numerator / denominator;
}
// exp(x).
template <class Round>
QUERN_DEVICE float exponential(Round, float x) {
  return expf(x);
}

// x/2 (1 + erf(x / sqrt(2))).
template <class Round>
QUERN_DEVICE float gelu_of(Round, float x) {
  return x * 0.5f * (1.0f + erff(x * 0.70710678f));
}

// The normal distribution's share below x.
template <class Round>
QUERN_DEVICE float normal_below(Round, float x) {
  return 0.5f * (1.0f + erff(x * 0.70710678f));
}

#ifdef __CUDA_ARCH__
QUERN_DEVICE float over(NoRounding, float numerator, float denominator) {
  float reciprocal;
  asm("rcp.approx.f32 %0, %1;" : "=f"(reciprocal) : "f"(denominator));
  return numerator * reciprocal;
}
// Flushes a quotient below 1.2e-38 times the numerator to zero.
QUERN_DEVICE float over(NarrowStore, float numerator, float denominator) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(denominator));
  return numerator * reciprocal;
}
// Within |x| + 2 units: the error of x log2(e), then that of the instruction.
QUERN_DEVICE float exponential(NarrowStore, float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
  return power;
}
// erfc(size / sqrt(2)) for a size from 0 to 20, by Abramowitz and Stegun 7.1.26: within 5e-7.
QUERN_DEVICE float normal_tails(NarrowStore round, float size) {
  const float k = over(round, 1.0f, fmaf(0.23164189f, size, 1.0f));
  const float tail =
      fmaf(k, fmaf(k, fmaf(k, fmaf(k, 1.061405429f, -1.453152027f), 1.421413741f), -0.284496736f), 0.254829592f);
  return tail * (k * exponential(round, -0.5f * size * size));
}
// max(x, 0) - |x|/2 erfc(|x| / sqrt(2)). The factor stays finite at +inf and does not at -inf, so that both come out as
// in the exact form: inf and NaN.
QUERN_DEVICE float gelu_of(NarrowStore round, float x) {
  const float size = fminf(fabsf(x), 20.0f);
  const float half = 0.5f * (x < 0.0f ? -x : size);
  return (x <= 0.0f ? 0.0f : x) - half * normal_tails(round, size);
}
QUERN_DEVICE float normal_below(NarrowStore round, float x) {
  const float half = 0.5f * normal_tails(round, fminf(fabsf(x), 20.0f));
  return x < 0.0f ? half : x >= 0.0f ? 1.0f - half : x;
}
#endif

QUERN_DEVICE float step_at(float edge, float x, float below, float above) {
  return x > edge ? above : x <= edge ? below : x;  // NaN is neither
}

template <class Round>
QUERN_DEVICE float logistic(Round round, float x) {
  return over(round, 1.0f, 1.0f + exponential(round, -x));
}
// Near zero off by an ulp of 1: for what is added to numbers of that size.
template <class Round>
QUERN_DEVICE float coarse_tanh(Round round, float x) {
  return 2.0f * logistic(round, 2.0f * x) - 1.0f;
}

// (x * logistic(a * x))'. The factors are in an order in which a large x meets zero before it overflows.
template <class Round>
QUERN_DEVICE float swish_slope(Round round, float x, float a) {
  const float s = logistic(round, a * x);
  return s + a * (x * (s * (1.0f - s)));
}

template <class Round>
QUERN_DEVICE float logistic_slope(Round round, float x) {
  const float s = logistic(round, x);
  return s * (1.0f - s);
}

template <class Round>
QUERN_DEVICE float gelu_slope(Round round, float x) {
  return normal_below(round, x) + x * (0.39894228f * exponential(round, -0.5f * x * x));
}

template <class Round>
QUERN_DEVICE float gelu_tanh_slope(Round round, float x) {
  const float square = fminf(x * x, 1e4f);  // 1 - t * t is zero by then, and must not meet infinity
  const float t = coarse_tanh(round, 0.79788456f * x * (1.0f + 0.044715f * square));
  return 0.5f * x * ((1.0f - t * t) * (0.79788456f + 0.1070322243f * square)) + 0.5f * (1.0f + t);
}

template <class Round>
QUERN_DEVICE float mish_slope(Round round, float x) {
  const float t = tanhf(log1pf(expf(x)));
  return t + x * (logistic(round, x) * (1.0f - t * t));
}

template <Activation A>
struct ActivationOf;

#define QUERN_ACTIVATION(name, alpha, ulps, absolute, formula, VALUE, DERIVATIVE, REFERENCE, GATED)                 \
  template <>                                                                                                       \
  struct ActivationOf<Activation::name> {                                                                           \
    template <class Round>                                                                                          \
    static QUERN_DEVICE float value([[maybe_unused]] float x, [[maybe_unused]] float a, [[maybe_unused]] Round R) { \
      return VALUE;                                                                                                 \
    }                                                                                                               \
    template <class Round>                                                                                          \
    static QUERN_DEVICE float derivative([[maybe_unused]] float x, [[maybe_unused]] float a,                        \
                                         [[maybe_unused]] Round R) {                                                \
      return DERIVATIVE;                                                                                            \
    }                                                                                                               \
    static QUERN_DEVICE float gated(float v, float g) { return GATED; }                                             \
  };
QUERN_ACTIVATIONS(QUERN_ACTIVATION)
#undef QUERN_ACTIVATION

// `round` is NoRounding for the `single` contract and RoundTo<storage type> for `torch`; either way the result is still
// to be rounded at the store.
template <Activation A, class Round>
QUERN_DEVICE float activate(float x, float alpha, Round round) {
  return ActivationOf<A>::value(x, alpha, round);
}

template <Activation A, class Round>
QUERN_DEVICE float activate_derivative(float x, float alpha, Round round) {
  return ActivationOf<A>::derivative(x, alpha, round);
}

// In the `torch` contract `v` is rounded before.
template <Activation A>
QUERN_DEVICE float gate(float v, float g) {
  return ActivationOf<A>::gated(v, g);
}

}  // namespace quern::common

#endif  // QUERN_COMMON_ACTIVATIONS_CUH_
