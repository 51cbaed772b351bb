// How far an activation's stored result is from the exact one, for every value of a 16-bit type.
#ifndef QUERN_TESTS_SUPPORT_STORED_ERROR_H_
#define QUERN_TESTS_SUPPORT_STORED_ERROR_H_

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "common/activation_reference.h"

namespace quern::test {

// The distance in units of the last place of T where `exact` is; 0 where both are NaN, infinite where one is.
template <class T>
double stored_error(T got, double exact) {
  constexpr int kDigits = std::is_same_v<T, common::Bf16> ? 8 : 11;
  constexpr int kLeast = std::is_same_v<T, common::Bf16> ? -133 : -24;  // the exponent of the smallest number
  constexpr double kLargest = std::is_same_v<T, common::Bf16> ? 0x1.fep127 : 65504;
  const double value = common::to_compute(got);
  if (std::isnan(value) || std::isnan(exact)) return std::isnan(value) && std::isnan(exact) ? 0 : HUGE_VAL;
  if (std::isinf(value) || std::abs(exact) > kLargest) return std::abs(exact) > kLargest * 0.99 ? 0 : HUGE_VAL;
  const int exponent = exact == 0 ? kLeast : std::max(std::ilogb(exact) - kDigits + 1, kLeast);
  return std::abs(value - exact) / std::ldexp(1.0, exponent);
}

// Half a unit, the error of correct rounding, plus a 64th of a unit.
inline constexpr double kMostStoredError = 0.5 + 1.0 / 64;

// "" or the first value of T at which `got`, 65536 results in the order of their arguments' bits, exceeds that error or
// differs from PyTorch's eager operator in the sign of a zero or at an infinity. If it is "", no result's error exceeds
// the eager operator's by more than a 64th of a unit. `worst`: the largest error.
template <class T>
std::string stored_worse_than_eager(const common::ActivationRow& row, const std::vector<T>& got, double& worst) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float x = common::to_compute(common::bit_cast<T>(static_cast<unsigned short>(bits)));
    const float value = common::to_compute(got[bits]), eager = row.value(x, row.alpha);
    const double exact = std::isfinite(x) ? row.reference(x, row.alpha) : double{eager};
    const double error = stored_error(got[bits], exact);
    worst = std::max(worst, error);
    const bool other_zero = value == 0 && eager == 0 && std::signbit(value) != std::signbit(eager);
    if (error <= kMostStoredError && !other_zero) continue;
    return cat(row.name, "(", x, ") is ", value, ", off by ", error, " units; exact ", exact, ", eager ", eager);
  }
  return "";
}

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_STORED_ERROR_H_
