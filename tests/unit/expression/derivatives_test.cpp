// d(expression, name): against dual numbers, against differences, at kinks, and again of itself.
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/drawn.h"
#include "unit/expression/support.h"

namespace quern::test::expressions {
namespace {

using namespace expression;

// A point of a random expression, at which its derivatives by x are taken.
struct Point {
  double x, y, z;
  template <class T>
  T dual(const Drawn& drawn, const T& at_x) const {
    return value_of<T>(drawn, [&](const std::string& name) { return name == "x" ? at_x : T(name == "y" ? y : z); });
  }
  double of(const Program& program) const { return value_at<double>(program, {{"x", x}, {"y", y}, {"z", z}}); }
};

Point drawn_point(Random& random) {
  const auto number = [&] { return 4 * random.unit() - 2; };
  return {number(), number(), number()};
}

// That depends on x.
DrawnPointer draw_of_x(Random& random, int depth) {
  for (;;) {
    DrawnPointer drawn = draw(random, {}, depth);
    const std::string text = plain_text(*drawn);
    if (reads(*drawn, "x") && parse(cat("out = d(", text, ", x)")) && parse(cat("out = d(d(", text, ", x), x)")))
      return drawn;
  }
}

// Those of drawn programs of that depth, given as d(…) around them, beside `wanted(drawn, at)`. Large ones are left
// out.
template <class Wanted>
void expect_derivatives(int depth, const char* open, const char* close, double largest, double bound,
                        const Wanted& wanted) {
  Random random(seed_of_run());
  int compared = 0;
  for (int i = 0; i < kRandomPrograms; ++i) {
    const DrawnPointer drawn = draw_of_x(random, depth);
    const Program derived = parsed(cat("out = ", open, plain_text(*drawn), close));
    const Point at = drawn_point(random);
    const double want = wanted(*drawn, at);
    if (!(std::abs(want) < largest)) continue;
    ++compared;
    ASSERT_NEAR(at.of(derived), want, bound * (1 + std::abs(want))) << plain_text(*drawn) << "\n"
                                                                    << print(derived) << "\n"
                                                                    << at.x << " " << at.y << " " << at.z;
  }
  EXPECT_GT(compared, kRandomPrograms * 9 / 10);
}

TEST(ExpressionDerivatives, AreThoseOfDualNumbers) {
  expect_derivatives(4, "d(", ", x)", 1e6, 1e-5,
                     [](const auto& drawn, const Point& at) { return at.dual(drawn, Dual<double>(at.x, 1.0)).d; });
}

TEST(ExpressionDerivatives, SecondOnesAreThoseOfDualNumbersOfDualNumbers) {
  expect_derivatives(3, "d(d(", ", x), x)", 1e5, 1e-4, [](const auto& drawn, const Point& at) {
    return at.dual(drawn, Dual<Dual<double>>({at.x, 1.0}, {1.0, 0.0})).d.d;
  });
}

// The slope of the value, twice, and nothing where two sizes of step disagree: at a kink, or a step.
TEST(ExpressionDerivatives, AreThoseOfDifferences) {
  Random random(seed_of_run());
  int compared = 0;
  for (int i = 0; i < 500; ++i) {
    Vocabulary words;
    words.rounds = false;
    const DrawnPointer drawn = draw(random, words, 4);
    const std::string text = plain_text(*drawn);
    if (!reads(*drawn, "x") || !parse(cat("out = d(", text, ", x)"))) continue;
    const Program value = parsed("out = " + text), derived = parsed(cat("out = d(", text, ", x)"));
    const Point at = drawn_point(random);
    const auto slope = [&](double step) {
      return (Point{at.x + step, at.y, at.z}.of(value) - Point{at.x - step, at.y, at.z}.of(value)) / (2 * step);
    };
    const double want = slope(1e-5), other = slope(3e-6);
    if (!(std::abs(want - other) < 1e-5 * (1 + std::abs(want)))) continue;
    ++compared;
    ASSERT_NEAR(at.of(derived), want, 1e-4 * (1 + std::abs(want))) << text << " " << at.x << " " << at.y << " " << at.z;
  }
  EXPECT_GT(compared, 200);
}

// Every function and both derivatives, over its domain: none is left to luck.
TEST(ExpressionDerivatives, OfEachFunctionByEachArgument) {
  for (const Function& f : kFunctions) {
    if (f.result != 'n' || f.reference == nullptr || !is_call(f) || std::string_view(f.name) == "detach") continue;
    const std::vector<std::string> all = {"x", "y", "z"};
    const int arity = takes_default_alpha(f) && !takes_alpha(f) ? 1 : f.arity();
    std::string arguments;
    for (int i = 0; i < arity; ++i) {
      const std::string& name = all[static_cast<std::size_t>(i)];
      arguments += cat(i == 0 ? "" : ", ", f.arguments[i] == 'c' ? name + " > 0" : name);
    }
    const std::string text = cat(f.name, "(", arguments, ")");
    for (int i = 0; i < arity; ++i) {
      if (f.arguments[i] == 'c') continue;
      const std::string& name = all[static_cast<std::size_t>(i)];
      for (const std::string& value : {text, cat("d(", text, ", ", name, ")")}) {
        const Program plain = parsed("out = " + value);
        const Parsed derived = parse(cat("out = d(", value, ", ", name, ")"));
        if (!derived) {  // the derivative is 0 everywhere, or does not have the name
          EXPECT_NE(derived.error.message.find("does not depend on"), std::string::npos) << derived.error.text();
          continue;
        }
        for (const double x : {0.17, 0.39, 0.83, -0.31, 1.9, -2.6}) {
          std::map<std::string, double> at = {{"x", 0.23}, {"y", 0.57}, {"z", 0.71}};
          at[name] = x;
          const auto moved = [&](double by) {
            std::map<std::string, double> to = at;
            to[name] += by;
            return value_at<double>(plain, to);
          };
          const double want = (moved(1e-5) - moved(-1e-5)) / 2e-5;
          if (!std::isfinite(want)) continue;  // outside the domain
          EXPECT_NEAR(value_at<double>(derived.program, at), want, 1e-6 * (1 + std::abs(want)))
              << value << " by " << name << " at " << x;
        }
      }
    }
  }
}

// As PyTorch has them.
TEST(ExpressionDerivatives, AtKinks) {
  const auto slope = [](const std::string& text, double x, double y = 0, double z = 0) {
    return value_at(cat("out = d(", text, ", x)"), x, y, z);
  };
  for (const char* name : {"relu", "srelu", "abs", "sign", "fatrelu"}) EXPECT_EQ(slope(cat(name, "(x)"), 0), 0) << name;
  EXPECT_EQ(slope("leaky_relu(x)", 0), static_cast<double>(0.01F));
  EXPECT_EQ(slope("elu(x)", 0), 1);
  EXPECT_EQ(slope("hardswish(x)", 3), 1.5);
  EXPECT_EQ(slope("hardswish(x)", -3), -0.5);
  for (const char* name : {"max", "min"}) {
    EXPECT_EQ(slope(cat(name, "(x, y)"), 2, 2), 0.5) << name;
    EXPECT_EQ(value_at(cat("out = d(", name, "(x, y), y)"), 2, 2), 0.5) << name;
  }
  EXPECT_EQ(slope("max(x, y)", 3, 2), 1);
  EXPECT_EQ(slope("max(x, y)", 1, 2), 0);
  EXPECT_EQ(slope("clamp(x, y, z)", 1, 1, 2), 1);
  EXPECT_EQ(slope("clamp(x, y, z)", 2, 1, 2), 1);
  EXPECT_EQ(slope("clamp(x, y, z)", 2.5, 1, 2), 0);
  EXPECT_EQ(value_at("out = d(clamp(x, y, z), y)", 1, 1, 2), 0);
  EXPECT_EQ(value_at("out = d(clamp(x, y, z), y)", 0, 1, 2), 1);
  EXPECT_EQ(value_at("out = d(clamp(x, y, z), z)", 3, 1, 2), 1);
  EXPECT_EQ(slope("pow(x, y)", 0, 0), 0);
  EXPECT_EQ(value_at("out = d(pow(x, y), y)", 0, 2), 0);
  EXPECT_EQ(slope("where(x > 0, 2 * x, 3 * x)", 0), 3);
  EXPECT_EQ(slope("floor(x) + rint(x) * x", 1.2), 1);
  EXPECT_EQ(slope("round(x, bf16) * x", 3), 6);
}

TEST(ExpressionDerivatives, DoNotPassDetach) {
  EXPECT_EQ(value_at("out = d(x * detach(x * x), x)", 3), 9);
  EXPECT_EQ(value_at("out = detach(x)", 3), 3);
  const std::string softmax = "let e = exp(x - detach(max(x))); y = e / sum(e)";
  EXPECT_EQ(print(gradient_of(parsed(softmax), {"x"})),
            "let t1 = exp(x - detach(max(x))); let t2 = sum(t1); d_x = (d_y / t2 + sum(-d_y * (t1 / t2 / t2))) * t1");
}

// Where the slope is 0 the gradient is 0, whatever it is multiplied by.
TEST(ExpressionDerivatives, SelectZeroWhereAProductWouldMakeNan) {
  const double inf = HUGE_VAL;
  for (const char* of : {"relu(x)", "fatrelu(x)", "srelu(x)", "hardswish(x - 4)", "max(x, 0)", "min(-x, 0)",
                         "clamp(x, 0, 1)", "where(x > 0, x, 0)"})
    EXPECT_EQ(value_at(cat("out = d(y * ", of, ", x)"), -1, inf), 0) << of;
  EXPECT_TRUE(std::isnan(value_at("out = d(y * gelu(x), x)", -100, inf)));  // as PyTorch's
  EXPECT_EQ(print(parsed("out = d(y * relu(x), x)")),
            "let t1 = relu_slope(x); out = where(t1 == const 0, const 0, y * t1)");
}

TEST(ExpressionDerivatives, SlopesOfActivationsAreTheirDerivatives) {
  for (const common::ActivationRow& row : common::kActivationRows) {
    const Program derived = parsed(cat("out = d(", row.name, "(x), x)"));
    for (double x = -6.01; x < 6; x += 0.21) {
      const double alpha = static_cast<double>(row.alpha);
      const double want = (row.reference(x + 1e-5, alpha) - row.reference(x - 1e-5, alpha)) / 2e-5;
      EXPECT_NEAR(value_at<double>(derived, {{"x", x}}), want, 1e-7 * (1 + std::abs(want))) << row.name << " " << x;
      EXPECT_NEAR(static_cast<double>(value_at<float>(derived, {{"x", static_cast<float>(x)}})), want,
                  2e-5 * (1 + std::abs(want)))
          << row.name << " " << x;
    }
  }
}

}  // namespace
}  // namespace quern::test::expressions
