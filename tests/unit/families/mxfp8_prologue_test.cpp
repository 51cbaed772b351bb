// Compares the numbers that mxfp8's reference quantizes after a prologue with the double formulas of the activation
// table, since the reference itself calls the functions that kernels call.
#include "mxfp8/prologue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/activation_reference.h"
#include "mxfp8/matrix.h"
#include "mxfp8/mxfp8.h"

namespace quern {
namespace {

double slope_of(double (*f)(double, double), double x, double a) {
  const auto central = [&](double step) { return (f(x + step, a) - f(x - step, a)) / (2 * step); };
  return (4 * central(1e-3) - central(2e-3)) / 3;  // Richardson's: off by the fourth power of the step
}

class Mxfp8Prologues : public testing::TestWithParam<common::ActivationRow> {
 protected:
  static constexpr std::int64_t kCols = 256;
  // Arguments away from the kinks, and no zeros.
  static float argument(std::int64_t i) { return (static_cast<float>(i) + 0.37F) / 20 - 6; }
  static float factor(std::int64_t i) { return i % 2 == 0 ? 1.5F : -0.75F; }

  double value(float x) const { return GetParam().reference(x, GetParam().alpha); }
  double slope(float x) const { return slope_of(GetParam().reference, x, GetParam().alpha); }
  // Computes one row from a row of source and of input, column by column.
  template <class Want>
  void expect_made(Mxfp8Prologue prologue, const std::vector<float>& source, const std::vector<float>& input,
                   const Want& want) const {
    const Mxfp8 p{.rows = 1,
                  .cols = kCols,
                  .dtype = f32,
                  .prologue = prologue,
                  .activation = static_cast<Activation>(&find() - common::kActivationRows)};
    Mxfp8Args a;
    a.source = source.data();
    a.input = input.data();
    for (std::int64_t c = 0; c < kCols; ++c) {
      const double expected = want(c);
      EXPECT_NEAR(mxfp8::made(p, a, 0, c), expected, std::max(std::abs(expected) * 0x1p-14, 0x1p-19))
          << GetParam().name << " at column " << c;
    }
  }
  static std::vector<float> filled(std::int64_t count, float (*number)(std::int64_t)) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(number(i));
    return numbers;
  }

 private:
  static const common::ActivationRow& find() {
    return *std::find_if(std::begin(common::kActivationRows), std::end(common::kActivationRows),
                         [](const auto& row) { return row.name == std::string_view(GetParam().name); });
  }
};
INSTANTIATE_TEST_SUITE_P(Activations, Mxfp8Prologues, testing::ValuesIn(common::kActivationRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(Mxfp8Prologues, AreTheFormulasInDouble) {
  std::vector<float> arguments = filled(kCols, argument), factors = filled(kCols, factor);
  std::vector<float> both = arguments;
  both.insert(both.end(), factors.begin(), factors.end());
  const auto at = [](std::int64_t c) { return argument(c); };
  expect_made(Mxfp8Prologue::act, arguments, {}, [&](std::int64_t c) { return value(at(c)); });
  expect_made(Mxfp8Prologue::gated, both, {}, [&](std::int64_t c) { return value(at(c)) * double{factor(c)}; });
  expect_made(Mxfp8Prologue::dact, factors, arguments,
              [&](std::int64_t c) { return double{factor(c)} * slope(at(c)); });
  constexpr std::int64_t kHalf = kCols / 2;
  expect_made(Mxfp8Prologue::dgated, factors, arguments, [&](std::int64_t c) {
    const std::int64_t i = c % kHalf;
    return c < kHalf ? double{factor(i)} * slope(at(i)) * double{at(kHalf + i)} : double{factor(i)} * value(at(i));
  });
}

}  // namespace
}  // namespace quern
