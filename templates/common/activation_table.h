#ifndef QUERN_COMMON_ACTIVATION_TABLE_H_
#define QUERN_COMMON_ACTIVATION_TABLE_H_

#ifndef __CUDACC_RTC__
#include <limits>
#endif

// clang-format off
// The activations: a new one is one row, and its number in the enum is its place, so add at the end.
//
//   ROW(name, alpha, ulps, absolute, formula, VALUE, DERIVATIVE, REFERENCE, GATED)
//
//   alpha       the default of the run-time parameter `a`; 0 where the formula has none
//   ulps, absolute
//               VALUE is within the larger of `ulps` fp32 units of REFERENCE and `absolute`, on the GPU too
//   formula     for people
//   VALUE       float, of x and a, in the order of PyTorch's CUDA kernels, so that it has their bits under
//               --fmad=false; fmaf stands where they contract. R(...) rounds an intermediate to the storage type in the
//               `torch` contract and does nothing in `single`. What takes R as its first argument is exact in
//               `torch` and cheaper in `single`; see activations.cuh.
//   DERIVATIVE  float, of x and a; cheaper, too, where R says so
//   REFERENCE   double, of x and a, in another form than VALUE where there is one
//   GATED       float, of the activated value v and the gate g
//
// NaN propagates. Where a formula is 0 * inf at an infinite x (silu at -inf), it gives NaN, as PyTorch does.

#define QUERN_ACTIVATIONS(ROW)                                                                                         \
  ROW(identity, 0.0f, 0, 0, "x",                                                                                       \
      x, 1.0f, x, v * g)                                                                                               \
  ROW(relu, 0.0f, 0, 0, "max(x, 0)",                                                                                   \
      x <= 0.0f ? 0.0f : x, step_at(0.0f, x, 0.0f, 1.0f), x <= 0 ? 0 : x, v * g)                                       \
  ROW(gelu, 0.0f, 6, 5e-7, "x/2 (1 + erf(x / sqrt(2)))",                                                               \
      gelu_of(R, x),                                                                                                   \
      gelu_slope(R, x),                                                                                                \
      0.5 * x * erfc(x * -0.70710678118654752), v * g)                                                                 \
  ROW(gelu_tanh, 0.0f, 8, 5e-7, "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",                                       \
      gelu_tanh_of(R, x), gelu_tanh_derivative(R, x),                                                                  \
      reference_gelu_tanh(x), v * g)                                                                                   \
  ROW(silu, 0.0f, 6, 2e-36, "x / (1 + exp(-x))",                                                                       \
      swish(R, x, x), swish_slope(R, x, 1.0f), x * reference_logistic(x), v * g)                                       \
  ROW(sigmoid, 0.0f, 6, 2e-38, "1 / (1 + exp(-x))",                                                                    \
      logistic(R, x), logistic_slope(R, x), reference_logistic(x), v * g)                                              \
  ROW(tanh, 0.0f, 4, 0, "tanh(x)",                                                                                     \
      tanhf(x), 1.0f - tanhf(x) * tanhf(x), ::tanh(x), v * g)                                                          \
  ROW(qgelu, 1.702f, 120, 2e-36, "x / (1 + exp(-a x))",                                                                \
      swish(R, x, a * x), swish_slope(R, x, a), x * reference_logistic(a * x), v * g)                                  \
  ROW(srelu, 0.0f, 1, 0, "max(x, 0)^2",                                                                                \
      x <= 0.0f ? 0.0f : x * x, x <= 0.0f ? 0.0f : x + x, x <= 0 ? 0 : x * x, v * g)                                   \
  ROW(fatrelu, 0.0f, 0, 0, "x > a ? x : 0",                                                                            \
      x <= a ? 0.0f : x, step_at(a, x, 0.0f, 1.0f), x <= a ? 0 : x, v * g)                                             \
  ROW(gelu_new, 0.0f, 8, 5e-7, "gelu_tanh; torch contract: every step rounded",                                        \
      gelu_new_of(R, x),                                                                                               \
      gelu_tanh_slope(R, x), reference_gelu_tanh(x), v * g)                                                            \
  ROW(gelu_fast, 0.0f, 8, 5e-7, "gelu_tanh through x (1 + 0.044715 x^2); torch contract: every step rounded",          \
      gelu_fast_of(R, x),                                                                                              \
      gelu_tanh_slope(R, x), reference_gelu_tanh(x), v * g)                                                            \
  ROW(elu, 1.0f, 4, 0, "x > 0 ? x : a (exp(x) - 1)",                                                                   \
      x > 0.0f ? x : expm1f(x) * a, x > 0.0f ? 1.0f : expf(x) * a, x > 0 ? x : a * ::expm1(x), v * g)                  \
  ROW(leaky_relu, 0.01f, 1, 0, "x > 0 ? x : a x",                                                                      \
      x > 0.0f ? x : x * a, step_at(0.0f, x, a, 1.0f), x > 0 ? x : a * x, v * g)                                       \
  ROW(mish, 0.0f, 12, 1e-37, "x tanh(log(1 + exp(x)))",                                                                \
      x * tanhf(log1pf(expf(x))), mish_slope(R, x), reference_mish(x), v * g)                                          \
  ROW(softplus, 0.0f, 6, 0, "x > 20 ? x : log(1 + exp(x))",                                                            \
      x > 20.0f ? x : log1pf(expf(x)), x > 20.0f ? 1.0f : logistic(R, x),                                              \
      (x > 0 ? x : 0) + ::log1p(::exp(-::fabs(x))), v * g)                                                             \
  ROW(hardswish, 0.0f, 6, 0, "x min(max(x + 3, 0), 6) / 6",                                                            \
      x * fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) * (1.0f / 6.0f),                                                          \
      x < -3.0f ? 0.0f : x > 3.0f ? 1.0f : x / 3.0f + 0.5f, reference_hardswish(x), v * g)                             \
  ROW(exp, 0.0f, 4, 0, "exp(x)",                                                                                       \
      expf(x), expf(x), ::exp(x), v * g)                                                                               \
  ROW(abs, 0.0f, 0, 0, "|x|",                                                                                          \
      fabsf(x), x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x, ::fabs(x), v * g)                                              \
  ROW(sin, 0.0f, 4, 0, "sin(x)",                                                                                       \
      sinf(x), cosf(x), ::sin(x), v * g)                                                                               \
  ROW(cos, 0.0f, 4, 0, "cos(x)",                                                                                       \
      cosf(x), -sinf(x), ::cos(x), v * g)                                                                              \
  ROW(situ, 4.0f, 10, 1e-37, "a tanh(x / a) / (1 + exp(-x))",                                                          \
      situ_of(R, x, a), situ_slope(R, x, a), a * ::tanh(x / a) * reference_logistic(x), v * g)
// clang-format on

namespace quern {

#define QUERN_ACTIVATION_NAME(name, ...) name,
enum class Activation : unsigned char { QUERN_ACTIVATIONS(QUERN_ACTIVATION_NAME) };
#undef QUERN_ACTIVATION_NAME

#ifndef __CUDACC_RTC__
// For the run-time parameter `a`: the activation's own default.
inline constexpr float kDefaultAlpha = std::numeric_limits<float>::quiet_NaN();
#endif

}  // namespace quern

#endif  // QUERN_COMMON_ACTIVATION_TABLE_H_
