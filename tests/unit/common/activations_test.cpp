#include "common/activations.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/activation_reference.h"
#include "support/stored_error.h"
#include "unit/common/support.h"

namespace quern::common {
namespace {

double ulp(double x) {
  const float magnitude = std::fabs(static_cast<float>(x));
  return std::isinf(magnitude) ? 0 : double{std::nextafter(magnitude, kInfinity)} - magnitude;
}

// Every binade, both signs, and densely where the functions bend.
std::vector<float> sweep() {
  std::vector<float> xs;
  for (u32 bits = 0; bits < 0x7dc00000u; bits += 0x000ffff1u) xs.push_back(bit_cast<float>(bits));  // to 3e37
  for (int i = 0; i <= 110 * 1024; ++i) xs.push_back(static_cast<float>(i) / 1024);
  for (const float x : {1e-45f, 1e-40f, 1.17549435e-38f, 1e30f, 1e37f}) xs.push_back(x);
  for (std::size_t i = 0, n = xs.size(); i < n; ++i) xs.push_back(-xs[i]);
  return xs;
}

class Rows : public testing::TestWithParam<ActivationRow> {};
std::string name_of(const testing::TestParamInfo<ActivationRow>& row) { return row.param.name; }
INSTANTIATE_TEST_SUITE_P(Activations, Rows, testing::ValuesIn(kActivationRows), name_of);

TEST_P(Rows, ValueIsWithinItsBound) {
  const ActivationRow& row = GetParam();
  double worst_ulps = 0, worst_absolute = 0;
  for (const float x : sweep()) {
    const double want = row.reference(x, row.alpha), got = row.value(x, row.alpha);
    const double error = got == static_cast<double>(static_cast<float>(want)) ? 0 : std::fabs(got - want);
    if (error > row.absolute) worst_ulps = std::max(worst_ulps, error / ulp(want));
    if (error > row.ulps * ulp(want)) worst_absolute = std::max(worst_absolute, error);
    ASSERT_LE(error, std::max(row.ulps * ulp(want), row.absolute)) << x << ": " << got << ", not " << want;
  }
  RecordProperty("worst_ulps", std::to_string(worst_ulps));
  RecordProperty("worst_absolute", std::to_string(worst_absolute * 1e9) + "e-9");
}

template <Activation A, class T>
std::vector<T> stored_narrow(float alpha) {
  std::vector<T> all;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float x = to_compute(bit_cast<T>(static_cast<u16>(bits)));
    all.push_back(from_compute<T>(activate<A>(x, alpha, NarrowStore())));
  }
  return all;
}

// The formulas that a GPU runs where 16 bits are stored, with the CPU's exact powers and reciprocals.
TEST(Activations, NoStoredValueIsWorseThanPyTorchs){
#define QUERN_CHECK(name, ...)                                                                                 \
  {                                                                                                            \
    const ActivationRow& row = kActivationRows[static_cast<int>(Activation::name)];                            \
    double bf16 = 0, fp16 = 0;                                                                                 \
    EXPECT_EQ(test::stored_worse_than_eager(row, stored_narrow<Activation::name, Bf16>(row.alpha), bf16), ""); \
    EXPECT_EQ(test::stored_worse_than_eager(row, stored_narrow<Activation::name, Fp16>(row.alpha), fp16), ""); \
    RecordProperty(#name, quern::cat(bf16, " ", fp16));                                                        \
    RecordProperty(#name, quern::cat("largest error in bf16 ", bf16, ", in fp16 ", fp16));                     \
  }
    QUERN_ACTIVATIONS(QUERN_CHECK)
#undef QUERN_CHECK
}

TEST_P(Rows, NanPropagates) {
  const ActivationRow& row = GetParam();
  EXPECT_TRUE(std::isnan(row.value(kNotANumber, row.alpha)));
  EXPECT_TRUE(std::isnan(row.reference(kNotANumber, row.alpha)));
  EXPECT_TRUE(row.name == std::string("identity") || std::isnan(row.derivative(kNotANumber, row.alpha)));
}

// At infinity a value is the reference's limit, or NaN where the formula says zero times infinity, which is at these.
constexpr std::string_view kNanAtMinusInfinity[] = {"gelu",     "gelu_tanh", "silu", "qgelu",
                                                    "gelu_new", "gelu_fast", "mish", "hardswish"};
constexpr std::string_view kNanAtBoth[] = {"sin", "cos"};

TEST_P(Rows, Infinities) {
  const ActivationRow& row = GetParam();
  const auto is_in = [&](const auto& names) { return std::count(std::begin(names), std::end(names), row.name) != 0; };
  for (const float x : {kInfinity, -kInfinity}) {
    const float got = row.value(x, row.alpha), want = static_cast<float>(row.reference(x, row.alpha));
    if (is_in(kNanAtBoth) || (x < 0 && is_in(kNanAtMinusInfinity))) {
      EXPECT_TRUE(std::isnan(got)) << x << ": " << got;
    } else {
      EXPECT_EQ(got, want) << x;
    }
  }
}

TEST_P(Rows, DerivativeIsTheSlopeOfTheReference) {
  const ActivationRow& row = GetParam();
  for (int i = -12000; i < 12000; ++i) {
    const double x = (i + 0.37) / 600, step = 1e-5;  // off the kinks
    const double slope = (row.reference(x + step, row.alpha) - row.reference(x - step, row.alpha)) / (2 * step);
    const double got = row.derivative(static_cast<float>(x), row.alpha);
    ASSERT_NEAR(got, slope, 3e-6 * std::max(1.0, std::fabs(slope)) + 3e-7 * std::fabs(x)) << x;
  }
}

TEST_P(Rows, DerivativeIsFiniteForLargeNumbers) {
  const ActivationRow& row = GetParam();
  if (row.name == std::string("exp") || row.name == std::string("srelu")) return;
  for (const float x : {1e4f, 1e19f, 1e30f, 3e38f, -1e4f, -1e19f, -1e30f, -3e38f}) {
    EXPECT_TRUE(std::isfinite(row.derivative(x, row.alpha))) << x;
  }
}

// Callers, cached keys and models rely on names, order and defaults: they do not change.
TEST(Activations, NamesOrderAndDefaults) {
  const std::vector<std::pair<std::string, float>> rows = {{"identity", 0},  {"relu", 0},
                                                           {"gelu", 0},      {"gelu_tanh", 0},
                                                           {"silu", 0},      {"sigmoid", 0},
                                                           {"tanh", 0},      {"qgelu", 1.702f},
                                                           {"srelu", 0},     {"fatrelu", 0},
                                                           {"gelu_new", 0},  {"gelu_fast", 0},
                                                           {"elu", 1},       {"leaky_relu", 0.01f},
                                                           {"mish", 0},      {"softplus", 0},
                                                           {"hardswish", 0}, {"exp", 0},
                                                           {"abs", 0},       {"sin", 0},
                                                           {"cos", 0},       {"situ", 4}};
  ASSERT_EQ(std::size(kActivationRows), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(kActivationRows[i].name, rows[i].first);
    EXPECT_EQ(kActivationRows[i].alpha, rows[i].second) << rows[i].first;
  }
  EXPECT_EQ(static_cast<std::size_t>(Activation::situ), rows.size() - 1);
}

// Values from PyTorch's documentation and arithmetic by hand, independent of the references.
TEST(Activations, WhoseFormulaHasTheParameterTakesIt) {
  std::string takers;
  for (std::size_t i = 0; i < std::size(kActivationRows); ++i) {
    if (takes_alpha(static_cast<int>(i))) takers += std::string(kActivationRows[i].name) + " ";
  }
  EXPECT_EQ(takers, "qgelu fatrelu elu leaky_relu situ ");
}

TEST(Activations, KnownValues) {
  const auto value = [](Activation a, float x) {
    const ActivationRow& row = kActivationRows[static_cast<int>(a)];
    return row.value(x, row.alpha);
  };
  EXPECT_EQ(bit_cast<u32>(value(Activation::relu, -0.0f)), 0u);
  EXPECT_NEAR(value(Activation::gelu, 1.0f), 0.8413447, 1e-6);
  EXPECT_NEAR(value(Activation::gelu_tanh, 1.0f), 0.8411920, 1e-6);
  EXPECT_NEAR(value(Activation::silu, 1.0f), 0.7310586, 1e-6);
  EXPECT_NEAR(value(Activation::qgelu, 1.0f), 0.8457958, 1e-6);
  EXPECT_NEAR(value(Activation::mish, 1.0f), 0.8650984, 1e-6);
  EXPECT_NEAR(value(Activation::softplus, 0.0f), 0.6931472, 1e-6);
  EXPECT_NEAR(value(Activation::hardswish, 1.0f), 2.0 / 3, 1e-6);
  EXPECT_NEAR(value(Activation::elu, -1.0f), -0.6321206, 1e-6);
  EXPECT_EQ(value(Activation::leaky_relu, -100.0f), -1.0f);
  EXPECT_EQ(value(Activation::srelu, 3.0f), 9.0f);
}

TEST(Activations, AlphaIsReadAtRunTime) {
  EXPECT_EQ((activate<Activation::fatrelu>(1.0f, 1.0f, NoRounding())), 0.0f);
  EXPECT_EQ((activate<Activation::fatrelu>(1.5f, 1.0f, NoRounding())), 1.5f);
  EXPECT_EQ((activate<Activation::leaky_relu>(-2.0f, 0.5f, NoRounding())), -1.0f);
  EXPECT_EQ((activate_derivative<Activation::leaky_relu>(-2.0f, 0.5f, NoRounding())), 0.5f);
  EXPECT_EQ((activate<Activation::qgelu>(2.0f, 0.0f, NoRounding())), 1.0f);
}

// gelu_new as a framework runs it in bf16: one operation, one rounding.
TEST(Activations, TorchContractRoundsEveryStep) {
  const RoundTo<Bf16> r;
  for (int i = -400; i < 400; ++i) {
    const float x = r(static_cast<float>(i) / 64);
    const float cube = r(r(x * x) * x), sum = r(x + r(0.044715f * cube)), t = r(tanhf(r(0.79788456f * sum)));
    EXPECT_EQ(activate<Activation::gelu_new>(x, 0.0f, r), r(r(0.5f * x) * r(1.0f + t)));
    const float inner = r(r(x * 0.79788456f) * r(1.0f + r(r(0.044715f * x) * x)));
    EXPECT_EQ(activate<Activation::gelu_fast>(x, 0.0f, r), r(r(0.5f * x) * r(1.0f + r(tanhf(inner)))));
  }
}

TEST(Activations, PlainGateMultiplies) {
  EXPECT_EQ(gate<Activation::silu>(3.0f, 2.0f), 6.0f);
  EXPECT_EQ(gate<Activation::identity>(3.0f, -2.0f), -6.0f);
}

}  // namespace
}  // namespace quern::common
