#ifndef QUERN_COMMON_ACTIVATIONS_CUH_
#define QUERN_COMMON_ACTIVATIONS_CUH_

#include "common/activation_table.h"
#include "common/numbers.cuh"

namespace quern::common {

using quern::Activation;

// Helpers that the rows of the table share.

// The `single` contract for results stored in at most 16 bits: an error of 2^-17 of the result's size is 1/64 of a
// unit there.
struct NarrowStore : NoRounding {};

// How exact a result must be that is stored in `Bytes` bytes, without a contract.
template <int Bytes>
struct RoundingOf {
  using Type = NarrowStore;
};
template <>
struct RoundingOf<4> {
  using Type = NoRounding;
};

// numerator / denominator for a denominator of 1 or more. IEEE's in the `torch` contract; in `single` by a reciprocal
// with an error of one unit, without the branch that exact division needs.
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
#endif

// ---- NarrowStore

// 1 / x within a unit, 2^x within two. Results below 2^-126 are 0, as keeping them would cost instructions.
QUERN_DEVICE float narrow_reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
  return reciprocal;
#else
  return fabsf(x) > 0x1p126f ? 0.0f : 1.0f / x;
#endif
}
QUERN_DEVICE float narrow_power_of_two(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return x < -126.0f ? 0.0f : exp2f(x);
#endif
}

QUERN_DEVICE float over(NarrowStore, float numerator, float denominator) {
  return numerator * narrow_reciprocal(denominator);
}
// Within |x| + 2 units: the error of x log2(e), then that of the power.
QUERN_DEVICE float exponential(NarrowStore, float x) { return narrow_power_of_two(x * 1.44269504f); }

// 1 / (1 + exp(-x)) as 2^-26 / (2^-26 + 2^-26 exp(-x)), the power being a square: so neither it nor the reciprocal
// leaves the range of normal numbers before the result is below the smallest number of 16 bits. Only the last
// multiplication can give a denormal result.
QUERN_DEVICE float logistic(NarrowStore, float x) {
  const float root = narrow_power_of_two(fmaf(x, -0.72134752f, -13.0f));
  return narrow_reciprocal(fmaf(root, root, 0x1p-26f)) * 0x1p-26f;
}

// The parts of the normal distribution's share beyond a size: k R(size k) exp(-size^2 / 2) for k = 1 / (1 + 0.3075
// size). R is the polynomial of degree 5 with the least relative error up to size 14.5, beyond which the share times
// the size is below the smallest number of 16 bits: 4.6e-6. The power is multiplied by 2^24 and R by 2^-24, so that
// only the last multiplication can give a denormal result.
struct NormalBeyond {
  float k;
  float size_k;
  float rest;
  float power;
};
QUERN_DEVICE NormalBeyond normal_beyond(float size) {
  NormalBeyond n;
  n.k = narrow_reciprocal(fmaf(0.3075f, size, 1.0f));
  n.size_k = size * n.k;
  float rest = fmaf(n.size_k, 2.06852332e-4f * 0x1p-24f, -1.66173722e-3f * 0x1p-24f);
  rest = fmaf(n.size_k, rest, -4.58802417e-4f * 0x1p-24f);
  rest = fmaf(n.size_k, rest, 5.16816489e-2f * 0x1p-24f);
  rest = fmaf(n.size_k, rest, -2.45154455e-1f * 0x1p-24f);
  n.rest = fmaf(n.size_k, rest, 5.00000358e-1f * 0x1p-24f);
  n.power = narrow_power_of_two(fmaf(size, size * -0.72134752f, 24.0f));
  return n;
}
// max(x, -0). NaN propagates.
QUERN_DEVICE float positive_part(float x) {
#ifdef __CUDA_ARCH__
  float part;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(part) : "f"(x), "f"(-0.0f));
  return part;
#else
  return x < 0.0f ? -0.0f : x;
#endif
}
// max(x, 0) - |x| times the share beyond |x|: one multiplication for both sides. The limit of 20 leaves inf as it is;
// at -inf it is inf times 0, NaN, as in the exact form.
QUERN_DEVICE float gelu_of(NarrowStore, float x) {
  const NormalBeyond n = normal_beyond(fabsf(fminf(x, 20.0f)));
  return fmaf(-(n.size_k * n.power), n.rest, positive_part(x));
}
// The share below x and x times the density. Both have the same power; for x above 0 it is 1 less what it is at -x. At
// either infinity it is infinity times 0, NaN, as in the exact form.
QUERN_DEVICE float gelu_slope(NarrowStore, float x) {
  const NormalBeyond n = normal_beyond(fabsf(fminf(x, 20.0f)));
  const float beyond = n.power * fmaf(-fabsf(x), 0.39894228f * 0x1p-24f, n.k * n.rest);
  return x < 0.0f ? beyond : 1.0f - beyond;
}

QUERN_DEVICE float step_at(float edge, float x, float below, float above) {
  return x > edge ? above : x <= edge ? below : x;  // NaN is neither
}

template <class Round>
QUERN_DEVICE float logistic(Round round, float x) {
  return over(round, 1.0f, 1.0f + exponential(round, -x));
}
// x logistic(y).
template <class Round>
QUERN_DEVICE float swish(Round round, float x, float y) {
  return over(round, x, 1.0f + exponential(round, -y));
}
QUERN_DEVICE float swish(NarrowStore round, float x, float y) { return x * logistic(round, y); }

// The forms of x/2 (1 + tanh(y)). If only the result is rounded it is computed as x logistic(2y), which has no
// cancellation.
template <class Round>
QUERN_DEVICE float gelu_tanh_of(Round, float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456f * fmaf(0.044715f, x * x * x, x)));
}
template <class Round>
QUERN_DEVICE float gelu_new_of(Round R, float x) {
  return R(R(0.5f * x) * R(1.0f + R(tanhf(R(0.79788456f * R(x + R(0.044715f * R(R(x * x) * x))))))));
}
template <class Round>
QUERN_DEVICE float gelu_fast_of(Round R, float x) {
  return R(R(0.5f * x) * R(1.0f + R(tanhf(R(R(x * 0.79788456f) * R(1.0f + R(R(0.044715f * x) * x)))))));
}
QUERN_DEVICE float gelu_tanh_of(NarrowStore round, float x) {
  return swish(round, x, x * fmaf(0.071354816f, x * x, 1.5957691f));
}
QUERN_DEVICE float gelu_new_of(NarrowStore round, float x) { return gelu_tanh_of(round, x); }
QUERN_DEVICE float gelu_fast_of(NarrowStore round, float x) { return gelu_tanh_of(round, x); }

// Near zero its error is an ulp of 1, so use it only in sums with numbers of that size.
template <class Round>
QUERN_DEVICE float coarse_tanh(Round round, float x) {
  return 2.0f * logistic(round, 2.0f * x) - 1.0f;
}

// (x * logistic(a * x))'. The order of the factors multiplies a large x by zero before it overflows.
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
  const float square = fminf(x * x, 1e4f);  // 1 - t * t is zero there, and must not be multiplied by infinity
  const float t = coarse_tanh(round, 0.79788456f * x * (1.0f + 0.044715f * square));
  return 0.5f * x * ((1.0f - t * t) * (0.79788456f + 0.1070322243f * square)) + 0.5f * (1.0f + t);
}

// With the same logistic as the value.
QUERN_DEVICE float gelu_tanh_slope(NarrowStore round, float x) {
  const float s = logistic(round, x * fmaf(0.071354816f, x * x, 1.5957691f));
  const float of_argument = fmaf(0.21406445f, fminf(x * x, 1e4f), 1.5957691f);  // s (1 - s) is zero beyond
  return fmaf(x, of_argument * (s * (1.0f - s)), s);
}

// Of the `torch` contract in 16 bits the steps of PyTorch's operator, with the products that its compiler fuses: its
// bits. In fp32 they are less exact than the slope, by cancellation near -3.
template <class Round>
QUERN_DEVICE float gelu_tanh_derivative(Round, float x) {
  const float square = fminf(x * x, 1e4f), cube = x * x * x;
  const float t = tanhf(0.79788456f * fmaf(0.044715f, cube, x));
  const float of_argument = 0.79788456f * fmaf(3.0f * 0.044715f, square, 1.0f);
  return 0.5f * (1.0f + t) + 0.5f * x * fmaf(-t, t, 1.0f) * of_argument;
}
QUERN_DEVICE float gelu_tanh_derivative(RoundTo<float> round, float x) { return gelu_tanh_slope(round, x); }
QUERN_DEVICE float gelu_tanh_derivative(NoRounding round, float x) { return gelu_tanh_slope(round, x); }
QUERN_DEVICE float gelu_tanh_derivative(NarrowStore round, float x) { return gelu_tanh_slope(round, x); }

template <class Round>
QUERN_DEVICE float mish_slope(Round round, float x) {
  const float t = tanhf(log1pf(expf(x)));
  return t + x * (logistic(round, x) * (1.0f - t * t));
}

// a tanh(x / a) logistic(x), the gated SiLU with a limit of SiTU.
template <class Round>
QUERN_DEVICE float situ_of(Round round, float x, float a) {
  return a * tanhf(x / a) * logistic(round, x);
}
template <class Round>
QUERN_DEVICE float situ_slope(Round round, float x, float a) {
  const float t = tanhf(x / a), s = logistic(round, x);
  return (1.0f - t * t) * s + a * t * (s * (1.0f - s));
}

// Whether eager operators select a gradient of 0 where the derivative is 0, rather than multiply with it, which would
// make NaN of an infinity.
QUERN_DEVICE constexpr bool selects_zero(Activation a) {
  return a == Activation::relu || a == Activation::fatrelu || a == Activation::srelu || a == Activation::hardswish;
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

// `round` is NoRounding for the `single` contract and RoundTo<storage type> for `torch`; either way the result must
// still be rounded at the store.
template <Activation A, class Round>
QUERN_DEVICE float activate(float x, float alpha, Round round) {
  return ActivationOf<A>::value(x, alpha, round);
}

template <Activation A, class Round>
QUERN_DEVICE float activate_derivative(float x, float alpha, Round round) {
  return ActivationOf<A>::derivative(x, alpha, round);
}

// The gradient of x, from that of the value.
template <Activation A, class Round>
QUERN_DEVICE float activate_gradient(float x, float alpha, float of_value, Round round) {
  const float slope = activate_derivative<A>(x, alpha, round);
  return selects_zero(A) && slope == 0.0f ? 0.0f : round(of_value * slope);
}

// In the `torch` contract `v` is rounded before.
template <Activation A>
QUERN_DEVICE float gate(float v, float g) {
  return ActivationOf<A>::gated(v, g);
}

}  // namespace quern::common

#endif  // QUERN_COMMON_ACTIVATIONS_CUH_
