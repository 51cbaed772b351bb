// What the references of templates/common/expression_table.h are made of, in double.
#ifndef QUERN_EXPRESSION_SLOPE_REFERENCE_H_
#define QUERN_EXPRESSION_SLOPE_REFERENCE_H_

#include <cmath>

#include "common/activation_reference.h"

namespace quern::expression {

// As min_of and max_of: NaN propagates, and -0 is less than 0.
inline double lesser(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  return x < y || (x == y && std::signbit(x)) ? x : y;
}
inline double greater(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  return x < y || (x == y && std::signbit(x)) ? y : x;
}

// The derivatives of the activations.

inline double step(double edge, double x, double below, double above) {
  return x > edge ? above : x <= edge ? below : x;
}

inline double gelu_slope(double x) {
  return 0.5 * std::erfc(x * -0.70710678118654752) + x * (0.39894228040143268 * std::exp(-0.5 * x * x));
}

inline double swish_slope(double x, double a) {
  const double s = common::reference_logistic(a * x);
  return s + a * (x * (s * common::reference_logistic(-a * x)));
}

inline double logistic_slope(double x) { return common::reference_logistic(x) * common::reference_logistic(-x); }

inline double gelu_tanh_slope(double x) {
  constexpr double kTwice = 1.5957691216057307;
  const double square = std::fmin(x * x, 1e4);
  const double s = common::reference_logistic(kTwice * x * (1 + 0.044715 * square));
  return s + x * (s * (1 - s) * kTwice * (1 + 0.134145 * square));
}

inline double mish_slope(double x) {
  const double t = std::tanh(std::log1p(std::exp(x)));
  return t + x * (common::reference_logistic(x) * (1 - t * t));
}

inline double situ_slope(double x, double a) {
  const double t = std::tanh(x / a), s = common::reference_logistic(x);
  return (1 - t * t) * s + a * t * (s * (1 - s));
}

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_SLOPE_REFERENCE_H_
