#ifndef QUERN_COMMON_ACTIVATIONS_CUH_
#define QUERN_COMMON_ACTIVATIONS_CUH_

#include "common/activation_table.h"
#include "common/numbers.cuh"

namespace quern::common {

#define QUERN_ACTIVATION_NAME(name, ...) name,
enum class Activation : u8 { QUERN_ACTIVATIONS(QUERN_ACTIVATION_NAME) };
#undef QUERN_ACTIVATION_NAME

// What the rows of the table share.

// numerator / denominator for a denominator of 1 or more.
QUERN_DEVICE float over(NoRounding, float numerator, float denominator) {
#ifdef __CUDA_ARCH__
  float reciprocal;
  asm("rcp.approx.f32 %0, %1;" : "=f"(reciprocal) : "f"(denominator));
  return numerator * reciprocal;
#else
  return numerator / denominator;
#endif
}
template <class Round>
QUERN_DEVICE float over(Round, float numerator, float denominator) {
  return numerator / denominator;
}

QUERN_DEVICE float step_at(float edge, float x, float below, float above) {
  return x > edge ? above : x <= edge ? below : x;  // NaN is neither
}

QUERN_DEVICE float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }

// (x * logistic(a * x))'. The factors are in an order in which a large x meets zero before it overflows.
QUERN_DEVICE float swish_slope(float x, float a) {
  const float s = logistic(a * x);
  return s + a * (x * (s * (1.0f - s)));
}

QUERN_DEVICE float gelu_tanh_slope(float x) {
  const float square = fminf(x * x, 1e4f);  // 1 - t * t is zero by then, and must not meet infinity
  const float t = tanhf(0.79788456f * x * (1.0f + 0.044715f * square));
  return 0.5f * x * ((1.0f - t * t) * (0.79788456f + 0.1070322243f * square)) + 0.5f * (1.0f + t);
}

QUERN_DEVICE float mish_slope(float x) {
  const float t = tanhf(log1pf(expf(x)));
  return t + x * (logistic(x) * (1.0f - t * t));
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
    static QUERN_DEVICE float derivative([[maybe_unused]] float x, [[maybe_unused]] float a) { return DERIVATIVE; } \
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

template <Activation A>
QUERN_DEVICE float activate_derivative(float x, float alpha) {
  return ActivationOf<A>::derivative(x, alpha);
}

// In the `torch` contract `v` is rounded before.
template <Activation A>
QUERN_DEVICE float gate(float v, float g) {
  return ActivationOf<A>::gated(v, g);
}

}  // namespace quern::common

#endif  // QUERN_COMMON_ACTIVATIONS_CUH_
