// The interpreters: in double against definitions, in float against double within a propagated bound, and special
// numbers.
#include <gtest/gtest.h>

#include <bit>

#include "base/text.h"
#include "common/host_types.h"
#include "support/bounded.h"
#include "support/drawn.h"
#include "unit/expression/support.h"

namespace quern::test::expressions {
namespace {

using namespace expression;

double number(Random& random) { return 4 * random.unit() - 2; }
// So that both interpreters read the same.
double float_number(Random& random) { return static_cast<double>(static_cast<float>(number(random))); }

TEST(ExpressionValues, AreThoseOfTheDefinitions) {
  Random random(seed_of_run());
  int large = 0;
  for (int i = 0; i < kRandomPrograms; ++i) {
    const DrawnPointer drawn = draw(random, {}, 6);
    const Program program = parsed("out = " + plain_text(*drawn));
    for (int j = 0; j < 4; ++j) {
      const std::map<std::string, double> inputs = {
          {"x", number(random)}, {"y", number(random)}, {"z", number(random)}};
      const double want = value_of<double>(*drawn, [&](const std::string& name) { return inputs.at(name); });
      const double got = value_at<double>(program, inputs);
      large += std::abs(want) > 1e6 ? 1 : 0;
      ASSERT_NEAR(got, want, 1e-6 * (1 + std::abs(want)))
          << print(program) << " at " << inputs.at("x") << " " << inputs.at("y") << " " << inputs.at("z");
    }
  }
  EXPECT_LT(large, kRandomPrograms / 5);
}

// ---- float

TEST(ExpressionValues, InFloatAreWithinThePropagatedBound) {
  Random random(seed_of_run());
  int tight = 0, loose = 0;
  for (int i = 0; i < kRandomPrograms; ++i) {
    Vocabulary words;
    words.rounds = i % 4 == 0;
    const Program program = parsed("out = " + plain_text(*draw(random, words, 5)));
    for (int j = 0; j < 4; ++j) {
      const std::map<std::string, double> inputs = {
          {"x", float_number(random)}, {"y", float_number(random)}, {"z", float_number(random)}};
      std::map<std::string, float> narrow;
      for (const auto& [name, value] : inputs) narrow[name] = static_cast<float>(value);
      const Bounded want = bounded(program, [&](const expression::Operand& input) { return inputs.at(input.name); });
      const auto root = static_cast<std::size_t>(program.outputs[0].value);
      const double value = want.value[root], error = want.error[root];
      if (!(error < 1e30)) continue;
      ASSERT_NEAR(static_cast<double>(value_at<float>(program, narrow)), value, error) << print(program);
      (error <= 1e-3 * (1 + std::abs(value)) ? tight : loose) += 1;
    }
  }
  EXPECT_GT(tight, loose);  // so the bounds say something
}

TEST(ExpressionValues, InFloatHaveOneRoundingAnOperation) {
  const float x = 1.0F + 0x1p-12F, y = x;
  EXPECT_EQ(float_at("out = x * y + z", x, y, -1), x * y - 1.0F);
  EXPECT_EQ(float_at("out = fma(x, y, z)", x, y, -1), std::fmaf(x, y, -1));
  EXPECT_NE(x * y - 1.0F, std::fmaf(x, y, -1));
  EXPECT_EQ(float_at("out = round(x, bf16)", 1.00390625F), 1.0F);  // half way, to even
  EXPECT_EQ(float_at("out = round(x, bf16)", 1.01171875F), 1.015625F);
  EXPECT_EQ(float_at("out = round(x, f16)", 1.00048828125F), 1.0F);
  EXPECT_EQ(float_at("out = round(x, f16)", 1e6F), HUGE_VALF);
  EXPECT_EQ(float_at("out = round(x, e4m3)", 1e6F), 448.0F);
  EXPECT_EQ(float_at("out = round(x, e5m2)", 1.1F), 1.0F);
  EXPECT_EQ(float_at("out = x * 0.1", 3), 3 * 0.1F);
}

// ---- special numbers

constexpr double kInf = HUGE_VAL;
const double kNan = std::nan("");

TEST(ExpressionValues, NanPropagates) {
  for (const Function& f : kFunctions) {
    if (f.result != 'n' || f.reference == nullptr || std::string_view(f.name) == "where") continue;
    for (int i = 0; i < f.arity(); ++i) {
      if (takes_default_alpha(f) && i == 1) continue;  // few formulas have it
      double x[3] = {0.5, 0.5, 0.5};
      x[i] = kNan;
      EXPECT_TRUE(std::isnan(f.reference(x[0], x[1], x[2]))) << f.name << " " << i;
      EXPECT_TRUE(std::isnan(f.compute(static_cast<float>(x[0]), static_cast<float>(x[1]), static_cast<float>(x[2]))))
          << f.name << " " << i;
    }
  }
  EXPECT_TRUE(std::isnan(value_at("out = x + nan", 1)));
  EXPECT_EQ(value_at("out = where(x < 1, 1, 0) + where(x >= 1, 2, 0) + where(x != x, 4, 0)", kNan), 4);
  EXPECT_EQ(value_at("out = where(not (x < 1), 1, 0)", kNan), 1);
}

TEST(ExpressionValues, InfinitiesAndZerosKeepTheirSigns) {
  EXPECT_EQ(value_at("out = max(x, inf)", 3), kInf);
  EXPECT_EQ(value_at("out = clamp(x, -1, 1)", -kInf), -1);
  EXPECT_EQ(value_at("out = clamp(x, 2, 1)", 5), 1);
  EXPECT_TRUE(std::isnan(value_at("out = x - x", kInf)));
  EXPECT_TRUE(std::isnan(value_at("out = x * 0", kInf)));  // nothing times 0 is folded
  for (const auto& at : {float_at("out = min(x, y)", 0.0F, -0.0F), float_at("out = min(x, y)", -0.0F, 0.0F),
                         float_at("out = max(x, y)", -0.0F, -0.0F), float_at("out = sign(x)", -0.0F),
                         float_at("out = x + const -0", -0.0F), float_at("out = x - const 0", -0.0F),
                         float_at("out = x * const 1", -0.0F), float_at("out = - -x", -0.0F)})
    EXPECT_TRUE(at == 0 && std::signbit(at));
  for (const auto& at : {float_at("out = max(x, y)", 0.0F, -0.0F), float_at("out = max(x, y)", -0.0F, 0.0F),
                         float_at("out = x + const 0", -0.0F), float_at("out = x - const -0", -0.0F),
                         float_at("out = x + 0", -0.0F), float_at("out = const 0 - x", 0.0F)})
    EXPECT_TRUE(at == 0 && !std::signbit(at));
}

// What makes a node of another one changes no bit for any input.
TEST(ExpressionValues, SimplificationsChangeNoBit) {
  const std::pair<const char*, float (*)(float)> cases[] = {
      {"out = x * const 1", [](float x) { return x * 1.0F; }},
      {"out = const 1 * x", [](float x) { return 1.0F * x; }},
      {"out = x / const 1", [](float x) { return x / 1.0F; }},
      {"out = x - const 0", [](float x) { return x - 0.0F; }},
      {"out = x + const -0", [](float x) { return x + -0.0F; }},
      {"out = const -0 + x", [](float x) { return -0.0F + x; }},
      {"out = x + const 0", [](float x) { return x + 0.0F; }},
      {"out = const 0 + x", [](float x) { return 0.0F + x; }},
      {"out = const 0 - x", [](float x) { return 0.0F - x; }},
      {"out = x - const -0", [](float x) { return x - -0.0F; }},
      {"out = const 1 / x", [](float x) { return 1.0F / x; }},
      {"out = x * const 0", [](float x) { return x * 0.0F; }},
      {"out = const 0 * x", [](float x) { return 0.0F * x; }},
      {"out = x * const -1", [](float x) { return x * -1.0F; }},
      {"out = x - x", [](float x) { return x - x; }},
      {"out = x / x", [](float x) { return x / x; }},
      {"out = where(x > 0, x, x)", [](float x) { return x; }},
      {"out = -(-x)", [](float x) { return x; }},
      {"out = x * (const 2 * const 0.5)", [](float x) { return x; }},
      {"out = x + (const 1 - const 1)", [](float x) { return x + 0.0F; }},
      {"out = x + const 0.1 * const 3", [](float x) { return x + 0.1F * 3.0F; }}};
  for (const auto& [text, plain] : cases) {
    for (const float x : {1.5F, -1.5F, 0.0F, -0.0F, HUGE_VALF, -HUGE_VALF, 1e-45F, -1e-45F, 3e38F}) {
      const float got = float_at(text, x), want = plain(x);
      EXPECT_TRUE(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want) ||
                  (std::isnan(got) && std::isnan(want)))
          << text << " at " << x << ": " << got;
    }
  }
}

TEST(ExpressionValues, BroadcastsAndReductions) {
  const Program program = parsed(
      "r: row; c: column; s: scalar; m: number; y = x + r * c + s * m; a = sum(x); b = mean(x) * m; e = max(x) - c; "
      "f = sum_rows(x + c); g = sum_all(r); h: full; h = sum(r)");
  const auto made =
      expression::evaluate<double>(program, {2, 3}, {{1, 2, 3, 4, 5, 9}, {10, 20, 30}, {1, -1}, {0.5}, {2}});
  ASSERT_EQ(program.inputs[0].name + program.inputs[1].name + program.inputs[2].name + program.inputs[3].name +
                program.inputs[4].name,
            "xrcsm");
  using Array = std::vector<double>;
  EXPECT_EQ(made[0], (Array{12, 23, 34, -5, -14, -20}));
  EXPECT_EQ(made[1], (Array{6, 18}));
  EXPECT_EQ(made[2], (Array{4, 12}));
  EXPECT_EQ(made[3], (Array{2, 10}));
  EXPECT_EQ(made[4], (Array{5, 7, 12}));
  EXPECT_EQ(made[5], (Array{120}));
  EXPECT_EQ(made[6], (Array{60, 60, 60, 60, 60, 60}));
}

TEST(ExpressionValues, OfNoElements) {
  const Program program = parsed("y = x - sum(x); a = sum(x); e = max(x); f = sum_rows(x); g = sum_all(x)");
  const auto of_no_width = expression::evaluate<double>(program, {2, 0}, {{}});
  EXPECT_EQ(of_no_width[0].size(), 0U);
  EXPECT_EQ(of_no_width[1], (std::vector<double>{0, 0}));
  EXPECT_EQ(of_no_width[2], (std::vector<double>{-kInf, -kInf}));
  EXPECT_EQ(of_no_width[4], (std::vector<double>{0}));
  const auto of_no_rows = expression::evaluate<double>(program, {0, 2}, {{}});
  EXPECT_EQ(of_no_rows[1].size(), 0U);
  EXPECT_EQ(of_no_rows[3], (std::vector<double>{0, 0}));
}

// Each activation is that of the table, with the alpha that is given and with its own.
TEST(ExpressionValues, ActivationsAreThoseOfTheTable) {
  for (const common::ActivationRow& row : common::kActivationRows) {
    for (const float x : {-3.5F, -1.0F, -0.0F, 0.0F, 0.3F, 2.0F, 25.0F}) {
      EXPECT_EQ(float_at(cat("out = ", row.name, "(x)"), x), row.value(x, row.alpha)) << row.name << " " << x;
      EXPECT_NEAR(value_at(cat("out = ", row.name, "(x)"), static_cast<double>(x)),
                  row.reference(static_cast<double>(x), static_cast<double>(row.alpha)), 0)
          << row.name;
      if (find_function(std::string(row.name) + "_slope", 2) < 0) continue;
      EXPECT_EQ(float_at(cat("out = ", row.name, "_slope(x)"), x), row.derivative(x, row.alpha)) << row.name;
      const std::string with_alpha = cat("out = ", row.name, "(x, 0.75)");
      if (!parse(with_alpha)) continue;
      EXPECT_EQ(float_at(with_alpha, x), row.value(x, 0.75F)) << row.name;
    }
  }
}

}  // namespace
}  // namespace quern::test::expressions
