// quern/expression.h: the text that objects build.
#include "quern/expression.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "unit/expression/support.h"

namespace quern::test::expressions {
namespace {

std::string canonical(const Expression& y) { return expression::print(parsed(y.text())); }

TEST(ExpressionObjects, BuildTheTextOfAProgram) {
  const Expression x("x"), b("b", "f32 row"), c("c", "column"), m("m", "number");
  EXPECT_EQ(relu(x + 0.5F * b).text(), "b: f32 row; y = relu(x + 0.5 * b)");
  EXPECT_EQ(relu(x + b).text("out"), "b: f32 row; out = relu(x + b)");
  EXPECT_EQ(((x - (b - 1)) / (x * -2) - -x).text(), "b: f32 row; y = (x - (b - 1)) / (x * -2) - -x");
  EXPECT_EQ((-(x + b) * Expression::constant(-3)).text(), "b: f32 row; y = -(x + b) * const -3");
  EXPECT_EQ(where(!(x < b) && (x != 1 || b >= x), x, 0).text(),
            "b: f32 row; y = where(not x < b and (x != 1 or b >= x), x, 0)");
  EXPECT_EQ(round(fma(x, m, c), bf16).text(), "m: number; c: column; y = round(fma(x, m, c), bf16)");
  EXPECT_EQ((x * rsqrt(mean(square(x)) + 1e-5)).text(), "y = x * rsqrt(mean(square(x)) + 9.99999975e-06)");
  EXPECT_EQ(canonical(x * 1e-5), "y = x * 1e-05");
  EXPECT_EQ(canonical(x * INFINITY + NAN - 1e300), "y = x * inf + nan - inf");
  EXPECT_EQ(canonical(d(silu(x), x)), "y = silu_slope(x)");
  EXPECT_EQ(canonical(max(x, b) - max(x)), "b: f32 row; y = max(x, b) - max(x)");
  EXPECT_EQ(canonical(elu(x, m) + elu(x)), "m: number; y = elu(x, m) + elu(x)");
  EXPECT_EQ(canonical(x / Expression::width() + Expression::rows()), "y = x / width() + rows()");
  EXPECT_EQ(canonical(sum_rows(x * c)), "c: column; y = sum_rows(x * c)");
}

TEST(ExpressionObjects, PartsThatAreUsedTwiceAreLocals) {
  const Expression x("x"), t1("t1");
  const Expression square_of = x * t1;
  EXPECT_EQ(program_text({{"y", square_of + square_of}, {"z", square_of}}), "let t2 = x * t1; y = t2 + t2; z = t2");
  Expression all = x;
  for (int i = 0; i < 200; ++i) all = sin(all) + all;
  EXPECT_EQ(parsed(all.text()).tree.size(), 401);
}

TEST(ExpressionObjects, ValuesComeBeforeAnOutputInPlace) {
  const Expression x("x"), b("b");
  EXPECT_EQ(relu(x + b).text("x"), "x = relu(x + b)");
  const std::string text = program_text({{"x", x + b}, {"y", x - b}});
  EXPECT_EQ(text, "let t1 = x + b; let t2 = x - b; x = t1; y = t2");
  EXPECT_EQ(expression::print(parsed(text)), "let t1 = x - b; x = x + b; y = t1");
}

// Every function of the language has one here, and means that one.
TEST(ExpressionObjects, HaveEveryFunction) {
  const Expression x("x"), y("y"), z("z");
  std::map<std::string, Expression> all;
#define QUERN_TEST_ONE(name, ...) all.emplace(#name "/1", name(x));
#define QUERN_TEST_TWO(name, ...) all.emplace(#name "/2", name(x, y));
#define QUERN_TEST_THREE(name, arguments, ...) \
  all.emplace(#name "/3", arguments[0] == 'c' ? name(x > 0, y, z) : name(x, y, z));
#define QUERN_TEST_ACTIVATION(name, ...) \
  QUERN_TEST_ONE(name, "")               \
  QUERN_TEST_TWO(name, "")               \
  QUERN_TEST_ONE(name##_slope, "")       \
  QUERN_TEST_TWO(name##_slope, "")
  QUERN_EXPRESSION_UNARY(QUERN_TEST_ONE)
  QUERN_EXPRESSION_BINARY(QUERN_TEST_TWO)
  QUERN_EXPRESSION_TERNARY(QUERN_TEST_THREE)
  QUERN_EXPRESSION_ACTIVATIONS(QUERN_TEST_ACTIVATION)
  QUERN_TEST_ONE(identity, "")
  QUERN_TEST_ONE(sum, "")
  QUERN_TEST_ONE(mean, "")
  QUERN_TEST_ONE(max, "")
  QUERN_TEST_ONE(sum_rows, "")
  QUERN_TEST_ONE(sum_all, "")
  all.emplace("round/1", round(x, f16));
  all.emplace("width/0", Expression::width());
  all.emplace("rows/0", Expression::rows());
  for (const expression::Function& f : expression::kFunctions) {
    if (!expression::is_call(f)) continue;
    const auto found = all.find(cat(f.name, "/", f.arity()));
    ASSERT_NE(found, all.end()) << f.name;
    const expression::Parsed program = expression::parse(found->second.text("out"));
    if (expression::takes_default_alpha(f) && !expression::takes_alpha(f)) {
      EXPECT_FALSE(program) << f.name;
      continue;
    }
    ASSERT_TRUE(program) << program.error.text();
    if (std::string_view(f.name) == "identity") continue;  // it is its argument
    EXPECT_STREQ(program.program.tree[program.program.outputs[0].value].row().name, f.name);
  }
}

}  // namespace
}  // namespace quern::test::expressions
