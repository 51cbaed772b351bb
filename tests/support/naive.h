// The functions of the language by their definitions, of double and of dual numbers.
#ifndef QUERN_TESTS_SUPPORT_NAIVE_H_
#define QUERN_TESTS_SUPPORT_NAIVE_H_

#include <array>
#include <string>
#include <string_view>

#include "support/dual.h"

namespace quern::test::expressions {

template <class T>
T logistic_of(const T& x) {
  if (plain(x) > 0) return T(1.0) / (T(1.0) + exp_of(T(-x)));
  const T e = exp_of(x);
  return e / (T(1.0) + e);
}
// log(1 + exp(x)).
template <class T>
T softplus_of(const T& x) {
  if (plain(x) > 0) return x + log1p_of(exp_of(T(-x)));
  return log1p_of(exp_of(x));
}
template <class T>
T arcsin_of(const T& x) {
  return arctan_of(T(x / root_of(T(T(1.0) - x * x))));
}

// The activations, of x and alpha.
template <class T>
T naive_activation(std::string_view name, const T& x, const T& a) {
  const double p = plain(x);
  if (name == "relu") return p > 0 ? x : T(0.0);
  if (name == "gelu") return x * (T(0.5) * erfc_of(T(x * T(-0.70710678118654752))));
  if (name == "gelu_tanh" || name == "gelu_new" || name == "gelu_fast")
    return x * logistic_of(T(T(1.5957691216057308) * (x + T(0.044715) * x * x * x)));
  if (name == "silu") return x * logistic_of(x);
  if (name == "sigmoid") return logistic_of(x);
  if (name == "qgelu") return x * logistic_of(T(a * x));
  if (name == "srelu") return p > 0 ? x * x : T(0.0);
  if (name == "fatrelu") return p > plain(a) ? x : T(0.0);
  if (name == "elu") return p > 0 ? x : a * expm1_of(x);
  if (name == "leaky_relu") return p > 0 ? x : a * x;
  if (name == "mish") return x * tanh_of(softplus_of(x));
  if (name == "softplus") return softplus_of(x);
  if (name == "hardswish") return p < -3 ? T(0.0) : p > 3 ? x : x * (x + T(3.0)) / T(6.0);
  if (name == "situ") return a * tanh_of(T(x / a)) * logistic_of(x);
  return T(std::nan(""));
}

// The functions, of which floor and its kin need every bit of the value: it is the standard library's, and only the
// derivative follows from a formula.

// 8 bits, from float, in the range of normal numbers.
inline double naive_bf16(double x) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(static_cast<float>(x)), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

template <class T>
T naive_of_one(std::string_view name, const T& x) {
  const double p = plain(x);
  if (name == "-") return -x;
  if (name == "abs") return p > 0 ? x : p < 0 ? -x : T(0.0);
  if (name == "exp") return exp_of(x);
  if (name == "exp2") return passed(exp_of(T(x * T(0.69314718055994531))), std::exp2(p));
  if (name == "expm1") return expm1_of(x);
  if (name == "log") return log_of(x);
  if (name == "log2") return passed(log_of(x) / T(0.69314718055994531), std::log2(p));
  if (name == "log1p") return log1p_of(x);
  if (name == "sqrt") return root_of(x);
  if (name == "rsqrt") return T(1.0) / root_of(x);
  if (name == "reciprocal") return T(1.0) / x;
  if (name == "square") return x * x;
  if (name == "sin") return sin_of(x);
  if (name == "cos") return cos_of(x);
  if (name == "tan") return passed(sin_of(x) / cos_of(x), std::tan(p));
  if (name == "asin") return passed(arcsin_of(x), std::asin(p));
  if (name == "acos") return passed(T(1.5707963267948966) - arcsin_of(x), std::acos(p));
  if (name == "atan") return arctan_of(x);
  if (name == "sinh") return passed((exp_of(x) - exp_of(T(-x))) / T(2.0), std::sinh(p));
  if (name == "cosh") return passed((exp_of(x) + exp_of(T(-x))) / T(2.0), std::cosh(p));
  if (name == "tanh") return tanh_of(x);
  if (name == "erf") return passed(-erfc_of(x), std::erf(p));
  if (name == "erfc") return erfc_of(x);
  if (name == "sign") return stepped(x, p > 0 ? 1 : p < 0 ? -1 : p);
  if (name == "floor") return stepped(x, std::floor(p));
  if (name == "ceil") return stepped(x, std::ceil(p));
  if (name == "trunc") return stepped(x, std::trunc(p));
  if (name == "rint") return stepped(x, std::nearbyint(p));
  if (name == "round") return passed(x, naive_bf16(p));
  if (name == "identity") return x;
  return T(std::nan(""));
}

template <class T>
T naive_of_two(std::string_view name, const T& x, const T& y) {
  const double p = plain(x), q = plain(y);
  if (name == "+") return x + y;
  if (name == "-") return x - y;
  if (name == "*") return x * y;
  if (name == "/") return x / y;
  if (name == "min") return p < q ? x : p > q ? y : T(0.5) * (x + y);
  if (name == "max") return p > q ? x : p < q ? y : T(0.5) * (x + y);
  if (name == "pow") return passed(exp_of(T(y * log_of(x))), std::pow(p, q));  // of positive x
  if (name == "atan2") return passed(arctan_of(T(x / y)), std::atan2(p, q));   // of positive y
  return T(std::nan(""));
}

inline bool naive_compares(std::string_view name, double x, double y) {
  if (name == "<") return x < y;
  if (name == "<=") return x <= y;
  if (name == ">") return x > y;
  if (name == ">=") return x >= y;
  if (name == "==") return x == y;
  return x != y;
}

}  // namespace quern::test::expressions

#endif  // QUERN_TESTS_SUPPORT_NAIVE_H_
