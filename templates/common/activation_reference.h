#ifndef QUERN_COMMON_ACTIVATION_REFERENCE_H_
#define QUERN_COMMON_ACTIVATION_REFERENCE_H_

// The activation table as data, for host code.

#include <cmath>

#include "common/activations.cuh"
#include "common/numbers.cuh"

namespace quern::common {

struct ActivationRow {
  const char* name;
  float alpha;
  double ulps;
  double absolute;
  const char* formula;
  double (*reference)(double x, double a);
  float (*value)(float x, float a);  // in the `single` contract
  float (*derivative)(float x, float a);
};

inline double reference_logistic(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

// (1 + tanh(y)) / 2 is logistic(2y), which does not cancel.
inline double reference_gelu_tanh(double x) {
  return x * reference_logistic(1.5957691216057307 * x * (1 + 0.044715 * x * x));
}

// tanh(log(1 + w)) is w (w + 2) / (w (w + 2) + 2).
inline double reference_mish(double x) {
  const double w = std::exp(x < 40 ? x : 40), p = w * (w + 2);
  return x * (p / (p + 2));
}

// 6x is computed before the division, as in PyTorch, so an x for which 6x overflows gives infinity.
inline double reference_hardswish(double x) {
  if (6 * x > 3.4028235677973366e38) return HUGE_VAL;
  return x <= -3 ? 0 * x : x >= 3 ? x : x * (x + 3) / 6;
}

// In the order of the enum.
#define QUERN_ACTIVATION_ROW(name, alpha, ulps, absolute, formula, VALUE, DERIVATIVE, REFERENCE, GATED)   \
  ActivationRow{#name,                                                                                    \
                alpha,                                                                                    \
                ulps,                                                                                     \
                absolute,                                                                                 \
                formula,                                                                                  \
                []([[maybe_unused]] double x, [[maybe_unused]] double a) -> double { return REFERENCE; }, \
                [](float x, float a) { return activate<Activation::name>(x, a, NoRounding()); },          \
                [](float x, float a) { return activate_derivative<Activation::name>(x, a, NoRounding()); }},
inline constexpr ActivationRow kActivationRows[] = {QUERN_ACTIVATIONS(QUERN_ACTIVATION_ROW)};
#undef QUERN_ACTIVATION_ROW

// The values of a field.
#define QUERN_ACTIVATION_NAME(name, ...) #name,
inline constexpr const char* kActivationNames[] = {QUERN_ACTIVATIONS(QUERN_ACTIVATION_NAME) nullptr};
#undef QUERN_ACTIVATION_NAME

// Whether the formula uses the run-time parameter: for some x its value depends on it.
inline bool takes_alpha(int activation) {
  const ActivationRow& row = kActivationRows[activation];
  return row.reference(-0.5, 1) != row.reference(-0.5, 2) || row.reference(1.5, 1) != row.reference(1.5, 2);
}

inline float alpha_or_default(int activation, float alpha) {
  return std::isnan(alpha) ? kActivationRows[activation].alpha : alpha;
}

}  // namespace quern::common

#endif  // QUERN_COMMON_ACTIVATION_REFERENCE_H_
