// The canonical text: it reads back, and all spellings of a program have the same.
#include "expression/print.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/drawn.h"
#include "unit/expression/support.h"

namespace quern::test::expressions {
namespace {

using namespace expression;

std::string canonical(const std::string& text) { return print(parsed(text)); }

void expect_reads_back(const Program& program, const std::string& text) {
  const Parsed again = parse(text);
  ASSERT_TRUE(again) << text << "\n" << again.error.text();
  EXPECT_EQ(again.program, program) << text;
  EXPECT_EQ(print(again.program), text);
}

TEST(ExpressionPrint, RandomProgramsReadBackAndAllSpellingsAreOne) {
  Random random(seed_of_run());
  for (int i = 0; i < kRandomPrograms; ++i) {
    const DrawnPointer a = draw(random, {}, 6), b = draw(random, {}, 4);
    const std::string text = cat("x: bf16; out: f32; out = ", plain_text(*a), "; other = ", plain_text(*b));
    if (!reads(*a, "x") && !reads(*b, "x")) continue;
    const Program program = parsed(text);
    expect_reads_back(program, print(program));

    OtherSpelling other(random);
    const std::string first = other.text(*a), second = other.text(*b);
    const std::string spelled =
        cat("out:", other.space(), "f32", other.separator(), "x : bf16 full", other.separator(), other.statements,
            "out", other.space(), "=", first, other.separator(), "other=", second, other.separator());
    EXPECT_EQ(canonical(spelled), print(program)) << spelled;
    if (HasFailure()) return;
  }
}

TEST(ExpressionPrint, HasFewParenthesesAndSpaces) {
  struct Case {
    const char* text;
    const char* canonical;
  };
  constexpr Case kCases[] = {
      {"y=((x+b))", "y = x + b"},
      {"y=(x+b)*c-(d-e)", "y = (x + b) * c - (d - e)"},
      {"y=x-(b+c)", "y = x - (b + c)"},
      {"y=x+(b+c)", "y = x + (b + c)"},  // another order of additions
      {"y:saved;y=exp(x)", "y: saved; y = exp(x)"},
      {"s: saved column f32; s = sum(x)", "s: f32 saved; s = sum(x)"},
      {"y=(x/b)/c", "y = x / b / c"},
      {"y=x/(b*c)", "y = x / (b * c)"},
      {"y=-(x*b)", "y = -(x * b)"},
      {"y=(-x)*b", "y = -x * b"},
      {"y=-(-x)", "y = x"},
      {"y=x- -2", "y = x - -2"},
      {"y=-2*x", "y = -2 * x"},
      {"y=where(not(x<b)and(c>0 or x!=1),x,2)", "y = where(not x < b and (c > 0 or x != 1), x, 2)"},
      {"y=where((x<b)and(x<c)or(x==c),x,2)", "y = where(x < b and x < c or x == c, x, 2)"},
      {"y=where(not(x<b or x<c),x,2)", "y = where(not (x < b or x < c), x, 2)"},
      {"y=round(x+b,bf16)", "y = round(x + b, bf16)"},
      {"y=round(round(x,f16),f16)", "y = round(x, f16)"},
      {"y=round(x,f32)", "y = x"},
      {"y=identity(x)", "y = x"},
      {"y=elu(x)+elu(x,const 1)", "let t1 = elu(x); y = t1 + t1"},
      {"y=elu(x,1)", "y = elu(x, 1)"},
      {"y=max(x,b)-max(x)", "y = max(x, b) - max(x)"},
      {"let a = x+1; y=a*a; z=a", "let t1 = x + 1; y = t1 * t1; z = t1"},
      {"t1=x+1; y=(x+2)*(x+2)", "let t2 = x + 2; t1 = x + 1; y = t2 * t2"},
      {"y = x*const 1 + const 0.5*const 4", "y = x + const 2"},
      {"y = d(x*x*x, x)", "let t1 = x * x; y = t1 + t1 + t1"},
      {"s=sum(x); y: full; y=sum(x)", "y: full; let t1 = sum(x); s = t1; y = t1"},
      {"b:row;s=sum_rows(x+b); y=x", "b: row; s = sum_rows(x + b); y = x"},
      {"m:number;y=x*m*width()/rows()", "m: number; y = x * m * width() / rows()"},
      {"x=x+1", "x = x + 1"},
      {"let a=x; x=x+1; y=a*2", "let t1 = x * 2; x = x + 1; y = t1"},
      {"let a=x; x=x+b; y=a", "let t1 = x; x = x + b; y = t1"},
      {"let o=x; let p=b; x=p; b=o", "let t1 = x; x = b; b = t1"},
  };
  for (const Case& each : kCases) {
    const std::string got = canonical(each.text);
    EXPECT_EQ(got, each.canonical) << each.text;
    expect_reads_back(parsed(each.text), got);
  }
}

TEST(ExpressionPrint, NumbersReadBackAsTheSameFloat) {
  Random random(seed_of_run());
  for (int i = 0; i < 2000; ++i) {
    float value = 0;
    const auto bits = static_cast<std::uint32_t>(random.next());
    std::memcpy(&value, &bits, sizeof(value));
    const Program program = parsed(cat("y = x + const ", print(value)));
    const Node& node = program.tree[program.tree[program.outputs[0].value].arguments[1]];
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(node.value()));
    else
      EXPECT_EQ(node.payload, bits) << print(value);
  }
  EXPECT_EQ(canonical("y = x * 1e-5 + const -inf + nan"), "y = x * 1e-05 + const -inf + nan");
  EXPECT_EQ(canonical("y = x * -0 + 0"), "y = x * -0 + 0");
}

TEST(ExpressionPrint, DeepTreesAreCutIntoLocals) {
  std::string text = "let a0 = x";
  for (int i = 1; i <= 500; ++i) text += cat("; let a", i, " = sin(a", i - 1, ")");
  const Program program = parsed(text + "; y = a500");
  EXPECT_EQ(program.tree.size(), 501);
  expect_reads_back(program, print(program));
}

TEST(ExpressionPrint, OperandsAreInTheOrderOfTheirUse) {
  const Program program = parsed("c: column; b: f32 row; m: number; let u = c; y = b * m + u; b2 = x");
  ASSERT_EQ(program.inputs.size(), 4U);
  EXPECT_EQ(program.inputs[0].name, "b");
  EXPECT_EQ(program.inputs[1].name, "m");
  EXPECT_EQ(program.inputs[2].name, "c");
  EXPECT_EQ(program.inputs[3].name, "x");
  EXPECT_EQ(memory_places(program), (std::vector<int>{0, -1, 1, 2}));
  EXPECT_EQ(program.inputs[0].dtype, f32);
  EXPECT_EQ(program.inputs[0].kind, Kind::row);
}

}  // namespace
}  // namespace quern::test::expressions
