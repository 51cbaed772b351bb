// Numbers with their derivative by one variable, of double or of themselves, for second derivatives. They share nothing
// with the derivatives of the language.
#ifndef QUERN_TESTS_SUPPORT_DUAL_H_
#define QUERN_TESTS_SUPPORT_DUAL_H_

#include <cmath>

namespace quern::test::expressions {

template <class T>
struct Dual {
  T v = 0;
  T d = 0;

  Dual() = default;
  Dual(double value) : v(value), d(0) {}  // NOLINT(google-explicit-constructor)
  Dual(T value, T derivative) : v(value), d(derivative) {}
};

inline double plain(double x) { return x; }
template <class T>
double plain(const Dual<T>& x) {
  return plain(x.v);
}

template <class T>
Dual<T> operator+(const Dual<T>& x, const Dual<T>& y) {
  return {x.v + y.v, x.d + y.d};
}
template <class T>
Dual<T> operator-(const Dual<T>& x, const Dual<T>& y) {
  return {x.v - y.v, x.d - y.d};
}
template <class T>
Dual<T> operator-(const Dual<T>& x) {
  return {-x.v, -x.d};
}
template <class T>
Dual<T> operator*(const Dual<T>& x, const Dual<T>& y) {
  return {x.v * y.v, x.v * y.d + x.d * y.v};
}
template <class T>
Dual<T> operator/(const Dual<T>& x, const Dual<T>& y) {
  return {x.v / y.v, (x.d * y.v - x.v * y.d) / (y.v * y.v)};
}

inline double exp_of(double x) { return std::exp(x); }
inline double log_of(double x) { return std::log(x); }
inline double sin_of(double x) { return std::sin(x); }
inline double cos_of(double x) { return std::cos(x); }
inline double root_of(double x) { return std::sqrt(x); }
inline double arctan_of(double x) { return std::atan(x); }
inline double erfc_of(double x) { return std::erfc(x); }
inline double expm1_of(double x) { return std::expm1(x); }
inline double log1p_of(double x) { return std::log1p(x); }
inline double tanh_of(double x) { return std::tanh(x); }

template <class T>
Dual<T> exp_of(const Dual<T>& x) {
  return {exp_of(x.v), x.d * exp_of(x.v)};
}
template <class T>
Dual<T> log_of(const Dual<T>& x) {
  return {log_of(x.v), x.d / x.v};
}
template <class T>
Dual<T> cos_of(const Dual<T>& x);
template <class T>
Dual<T> sin_of(const Dual<T>& x) {
  return {sin_of(x.v), x.d * cos_of(x.v)};
}
template <class T>
Dual<T> cos_of(const Dual<T>& x) {
  return {cos_of(x.v), x.d * -sin_of(x.v)};
}
template <class T>
Dual<T> root_of(const Dual<T>& x) {
  return {root_of(x.v), x.d / (T(2.0) * root_of(x.v))};
}
template <class T>
Dual<T> arctan_of(const Dual<T>& x) {
  return {arctan_of(x.v), x.d / (T(1.0) + x.v * x.v)};
}
template <class T>
Dual<T> erfc_of(const Dual<T>& x) {
  return {erfc_of(x.v), x.d * (T(-1.1283791670955126) * exp_of(T(-(x.v * x.v))))};
}
template <class T>
Dual<T> expm1_of(const Dual<T>& x) {
  return {expm1_of(x.v), x.d * exp_of(x.v)};
}
template <class T>
Dual<T> log1p_of(const Dual<T>& x) {
  return {log1p_of(x.v), x.d / (T(1.0) + x.v)};
}
template <class T>
Dual<T> tanh_of(const Dual<T>& x) {
  const T t = tanh_of(x.v);
  return {t, x.d * (T(1.0) - t * t)};
}

// A value whose derivative is 0 (floor), or another one's (round).
inline double stepped(double, double value) { return value; }
template <class T>
Dual<T> stepped(const Dual<T>&, double value) {
  return Dual<T>(value);
}
inline double passed(double, double value) { return value; }
template <class T>
Dual<T> passed(const Dual<T>& x, double value) {
  return {passed(x.v, value), x.d};
}

}  // namespace quern::test::expressions

#endif  // QUERN_TESTS_SUPPORT_DUAL_H_
