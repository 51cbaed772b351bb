// Gradients compared with central differences, of losses for which these are exact: polynomials of degree 2 of each
// number, with numbers that are multiples of powers of 2.
#ifndef QUERN_TESTS_SUPPORT_DIFFERENCES_H_
#define QUERN_TESTS_SUPPORT_DIFFERENCES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace quern::test {

// `loss` reads the `count` numbers of `x`, which are changed one at a time and put back.
template <class Number, class Loss>
void expect_differences(Number* x, std::int64_t count, const float* gradient, const Loss& loss,
                        const std::string& what) {
  constexpr Number kStep = 0.25;
  for (std::int64_t i = 0; i < count; ++i) {
    const Number at = x[i];
    x[i] = at + kStep;
    const double above = loss();
    x[i] = at - kStep;
    const double below = loss();
    x[i] = at;
    EXPECT_EQ(gradient[i], (above - below) / (2 * kStep)) << what << " " << i;
  }
}

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_DIFFERENCES_H_
