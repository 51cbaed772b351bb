// What the parser refuses: one error each, with its place.
#include <gtest/gtest.h>

#include "base/text.h"
#include "expression/emit.h"
#include "expression/gradient.h"
#include "expression/print.h"
#include "expression/program.h"
#include "support/small_stack.h"

namespace quern::test::expressions {
namespace {

using namespace expression;

// "2:5 message", and the caret's part.
std::string refusal(const std::string& text) {
  const Parsed parsed = parse(text);
  if (parsed) return "";
  return cat(parsed.error.line, ":", parsed.error.column, " ", parsed.error.message);
}

TEST(ExpressionErrors, EachHasItsPlaceAndWhatToType) {
  struct Case {
    const char* text;
    const char* refusal;
  };
  constexpr Case kCases[] = {
      // Statements.
      {"", "1:1 the program has no output; write one: y = …"},
      {"# only a comment", "1:17 the program has no output; write one: y = …"},
      {"let t = x; let u = t", "1:21 the program has no output; write one: y = …"},
      {"relu(x)", "1:1 a statement is y = …, let t = …, or a declaration such as bias: f32 row"},
      {"y == x", "1:3 write = for an output; == compares"},
      {"y = x x", "1:7 the statement ends before this; write an operator, ; or a new line"},
      {"y = x = 2", "1:7 the statement ends before this; write an operator, ; or a new line"},
      {"y = x +\n z", "1:8 a name, a number or a call is missing here; a line goes on only inside parentheses"},
      {"y = ", "1:4 a name, a number or a call is missing here"},
      {"let = x; y = x", "1:5 a name is missing here"},
      {"let and = x; y = x", "1:5 and cannot be a name"},
      {"let t x; y = x", "1:7 = is missing: let t = …"},
      // Declarations.
      {"b: f32 row", "1:11 the program has no output; write one: y = …"},
      {"b: f32 row; y = x", "1:1 b is never used"},
      {"y = x\nb: row\nc: row", "2:1 b is never used"},
      {"let t = x; y = x", "1:5 t is never used"},
      {"b: rwo; y = b",
       "1:4 a type (f32, f16, bf16, e4m3, e5m2), a kind (full, row, column, scalar, number) or saved is missing here"},
      {"b: f64; y = b",
       "1:4 a type (f32, f16, bf16, e4m3, e5m2), a kind (full, row, column, scalar, number) or saved is missing here"},
      {"b: f32 bf16; y = b", "1:8 a declaration has one type and one kind: bias: f32 row"},
      {"b: row row; y = b", "1:8 a declaration has one type and one kind: bias: f32 row"},
      {"b: f32 number; y = b", "1:1 a number has no type: it is a float of the launch"},
      {"b: row; b: row; y = b", "1:9 b is declared twice"},
      {"y: saved saved; y = b", "1:10 a declaration has one type and one kind: bias: f32 row"},
      {"b: saved row; y = b", "1:1 b is saved, but no output: b = …"},
      {"x: saved; x = exp(x)",
       "1:11 x is saved, so it cannot replace an input: a gradient reads both; give the output another name"},
      {"b: row; y: saved; y = exp(b)",
       "1:23 this is of kind row and y is a saved full; a gradient can read only what has the kind of the value"},
      {"g: saved row; g = sum_rows(x)", "1:19 g is saved, but no gradient reads what is over the rows"},
      {"y = b; b: row", "1:8 b is declared after it was used"},
      // Outputs and locals.
      {"y = x\ny = x", "2:1 y is written twice; first in line 1"},
      {"x = x + 1\ny = x", "2:5 x was written in line 1; name the value with let before, and read that"},
      {"y = x; z = y", "1:12 y was written in line 1; name the value with let before, and read that"},
      {"let t = x; t = x", "1:12 t is a local; an output needs another name"},
      {"let t = x; let t = y; z = t", "1:16 t is taken; give the local another name"},
      {"y = x; let x = y", "1:12 x is taken; give the local another name"},
      {"let t = t + 1; y = t", "1:5 t stands in its own value; give the local another name"},
      {"m: number; m = x", "1:12 m is a number of the launch; it has no memory to write to"},
      {"b: row; b = b * 2", "1:9 b is a row, which other elements read too; only a full operand is written in place"},
      {"c: column; c = x", "1:16 this is of kind full and c is a column"},
      {"b: row; c: column; y: column; y = b + c", "1:35 this is of kind full and y is a column"},
      {"b: row; y: row; y = b", "1:21 a row is written only by sum_rows"},
      {"s: scalar; s = 2", "1:16 a scalar is written only by sum_all"},
      {"y: full; y = sum_rows(x)", "1:14 this is of kind row and y is a full"},
      {"y = x < 2", "1:5 an output is a number; this is a condition: write where(…, 1, 0)"},
      // Types.
      {"y = where(x, 1, 2)", "1:11 where takes a condition here; this is a number: write … != 0"},
      {"y = 2 * (x < 1)", "1:9 * takes a number here; this is a condition: write where(…, 1, 0)"},
      {"y = where(x and x < 1, 1, 2)", "1:11 and takes a condition here; this is a number: write … != 0"},
      {"y = where(not x, 1, 2)", "1:15 not takes a condition here; this is a number: write … != 0"},
      {"y = relu(x > 1)", "1:10 relu takes a number here; this is a condition: write where(…, 1, 0)"},
      {"y = round(x > 1, bf16)", "1:11 round takes a number here; this is a condition: write where(…, 1, 0)"},
      {"y = where(x < 1 < 2, 1, 2)", "1:17 comparisons are not chained; write a < b and b < c"},
      {"y = where(x < (x < 2), 1, 2)", "1:15 < takes a number here; this is a condition: write where(…, 1, 0)"},
      {"y = x * not x", "1:9 not binds loosely; write (not …)"},
      // Calls.
      {"y = rleu(x)", "1:5 unknown function rleu. Did you mean relu?"},
      {"y = foobarbaz(x)",
       "1:5 unknown function foobarbaz. docs/expressions.md lists them, and has a softmax and norms"},
      {"y = Relu(x)", "1:5 unknown function Relu; write relu"},
      {"y = maximum(x, z)", "1:5 unknown function maximum; write max"},
      {"y = swish(x)", "1:5 unknown function swish; write silu"},
      {"y = relu()", "1:5 relu takes 1 argument, not 0"},
      {"y = relu(x, 2)", "1:5 relu takes 1 argument, not 2"},
      {"y = elu(x, 2, 3)", "1:5 elu takes 1 or 2 arguments, not 3"},
      {"y = max(x, 1, 2)", "1:5 max takes 1 or 2 arguments, not 3"},
      {"y = min(x)", "1:5 min takes 2 arguments, not 1"},
      {"y = fma(x, x)", "1:5 fma takes 3 arguments, not 2"},
      {"y = width(x)", "1:5 width takes 0 arguments, not 1"},
      {"y = x * exp", "1:9 exp is a function: exp(…)"},
      {"y = relu(x", "1:11 ) is missing, or a comma, after this argument"},
      {"y = (x + 1", "1:11 ) is missing after this expression"},
      {"y = x)", "1:6 the statement ends before this; write an operator, ; or a new line"},
      {"y = round(x)", "1:12 , is missing and the name of a type: round(x, bf16)"},
      {"y = round(x, f33)",
       "1:14 the name of a type is missing: round(x, bf16); there are f32, f16, bf16, e4m3 and e5m2"},
      {"y = sum_rows(x) + 1",
       "1:5 sum_rows must be the whole of an output; write what is done with each term inside, sum_rows(x * 0.5)"},
      {"let t = sum_all(x); y = relu(t)",
       "1:30 sum_all must be the whole of an output; write what is done with each term inside, sum_all(x * 0.5)"},
      // Derivatives.
      {"y = d(x * x)", "1:12 , is missing and the name by which to derive: d(x * x, x)"},
      {"y = d(x * x, 2)", "1:14 the name of an input is missing: d(x * x, x)"},
      {"y = d(x * x, z)", "1:14 d() takes an input that the program has read, which z is not"},
      {"let t = x; y = d(t * t, t)", "1:25 d() takes an input that the program has read, which t is not"},
      {"y = z; w = d(x * x, z)", "1:21 the expression does not depend on z"},
      {"y = d(sum(x), x)",
       "1:5 d is for what is computed element by element; the gradient of a whole program has reductions"},
      {"y = d(x < 1, x)", "1:7 what is derived is a number; this is a condition: write where(…, 1, 0)"},
      // Numbers and characters.
      {"y = 2x", "1:6 a number ends before \"x\"; write * between factors, and 1e-5"},
      {"y = 1e + x", "1:6 a number ends before \"e\"; write * between factors, and 1e-5"},
      {"y = x * 1.2.3", "1:12 a number has one point"},
      {"y = x * 1e50", "1:9 no float has this value; write inf, or 0"},
      {"y = x * 1e-60", "1:9 no float has this value; write inf, or 0"},
      {"y = x * +2", "1:9 a number has no sign +; leave it out"},
      {"y = const x", "1:11 a number follows const: const 0.5; other values are arguments of the launch"},
      {"y = x ** 2", "1:7 unknown symbol **: write pow(x, y)"},
      {"y = x ^ 2", "1:7 unknown symbol ^: write pow(x, y)"},
      {"y = x > 1 && x", "1:11 unknown symbol &&: write and"},
      {"y = x > 1 ? x : 0", "1:11 unknown symbol ?: write where(condition, a, b)"},
      {"y = x[0]", "1:6 unknown symbol [: a name is the whole operand"},
      {"y += x", "1:3 unknown symbol +=: write y = y + …"},
      {"y = \"x\"", "1:5 unknown character \""},
      {"y = _x", "1:5 a name begins with a letter"},
      {"y = x\x01", "1:6 a control character (0x01): names are letters, digits and _"},
      {"y = x\x7f", "1:6 a control character (0x7f): names are letters, digits and _"},
      {"y = \xc3\xa9", "1:5 a character that is not ASCII (0xc3): names are letters, digits and _"},
  };
  for (const Case& each : kCases) EXPECT_EQ(refusal(each.text), each.refusal) << each.text;
}

TEST(ExpressionErrors, TheCaretIsUnderThePlace) {
  EXPECT_EQ(parse("a = x\n\ty = relu(a, 2)").error.text(),
            "2:11: a was written in line 1; name the value with let before, and read that\n"
            "   y = relu(a, 2)\n"
            "            ^");
  EXPECT_EQ(parse(std::string("y = x \x01\xff z")).error.text(),
            "1:7: a control character (0x01): names are letters, digits and _\n"
            "  y = x ?? z\n"
            "        ^");
  const std::string many(1000, 'a');
  const Diagnostic error = parse(cat("y = ", many, " + ", many)).error;
  EXPECT_EQ(error.column, 5);
  EXPECT_EQ(error.message, "a name has more than 64 letters");
  const Diagnostic later = parse(cat("y = x", std::string(500, ' '), ") # ", many)).error;
  EXPECT_EQ(later.column, 506);
  EXPECT_LT(later.part.size(), 110U);
  EXPECT_EQ(later.part[static_cast<std::size_t>(later.caret)], ')');
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(ExpressionErrors, DeepAndLongTextsAreOneErrorEach) {
  const std::string deep = "more than 128 levels of parentheses, calls and signs; name a part with let";
  EXPECT_EQ(refusal("y = " + repeated("(", 10000)), "1:133 " + deep);
  EXPECT_EQ(refusal("y = " + repeated("(", 10000) + "x" + repeated(")", 10000)), "1:133 " + deep);
  EXPECT_EQ(refusal("y = " + repeated("-", 10000) + "x"), "1:133 " + deep);
  EXPECT_EQ(refusal("y = " + repeated("sin(", 10000)), "1:517 " + deep);
  EXPECT_EQ(refusal("y = where(" + repeated("not ", 10000) + "x < 1, x, x)"), "1:519 " + deep);
  EXPECT_EQ(refusal("y = " + repeated("(", 128) + "x" + repeated(")", 128)), "");
  EXPECT_EQ(refusal(std::string(1 << 20, 'x')), "1:1 a text of 1048576 bytes; at most 262144");
  EXPECT_EQ(refusal("y = x" + repeated(" + x", 10000)), "1:4099 more than 1024 operations, numbers and names");
  EXPECT_EQ(refusal("y = x" + repeated(" + x", 1000)), "");
  EXPECT_EQ(refusal(repeated("\n", 60000)), "60001:1 the program has no output; write one: y = …");
}

TEST(ExpressionErrors, AnyTextFitsASmallStack) {
  const std::string inside = "gelu_tanh(elu(silu(x) * mish(pow(x, 2)), 2))";
  const std::string texts[] = {"y = " + repeated("sin(", 127) + "x" + repeated(")", 127),
                               "y = " + repeated("(", 127) + "- x" + repeated(")", 127),
                               "y = d(" + inside + ", x) + d(d(x * softplus(x), x), x)", "y = " + repeated("- ", 200)};
  run_on_small_stack([&] {
    for (const std::string& text : texts) {
      const Parsed parsed = parse(text);
      EXPECT_EQ(static_cast<bool>(parsed), text != texts[3]) << parsed.error.text();
      if (!parsed) continue;
      const std::string x = "x";
      const Parsed slope = gradient(parsed.program, {&x, 1});
      EXPECT_EQ(print(parse(print(slope.program)).program), print(slope.program));
      EXPECT_FALSE(emit(slope.program, f32).empty());
    }
  });
}

TEST(ExpressionErrors, LimitsAreChecked) {
  std::string sum, numbers, outputs;
  for (int i = 0; i < 17; ++i) {
    sum += cat(i == 0 ? "" : " + ", "x", i);
    numbers += cat(i == 0 ? "" : " + ", i);
    if (i < 9) outputs += cat(i == 0 ? "" : "; ", "y", i, " = x");
  }
  EXPECT_EQ(refusal("y = " + sum), cat("1:", 5 + sum.rfind('x'), " more than 16 operands"));
  EXPECT_EQ(refusal("y = " + sum.substr(0, sum.rfind(" + "))), "");
  const std::string too_many = " more than 16 numbers; write const before those that never change";
  EXPECT_EQ(refusal("y = x * (" + numbers + ")"), cat("1:", 10 + numbers.rfind("16"), too_many));
  EXPECT_EQ(refusal("y = x * (" + numbers.substr(0, numbers.rfind(" + ")) + ")"), "");
  EXPECT_EQ(refusal("y = x * (" + numbers.substr(0, numbers.rfind(" + ")) + " + width())"), "1:1" + too_many);
  EXPECT_EQ(refusal(outputs), cat("1:", 1 + outputs.rfind('y'), " more than 8 outputs"));
  // Of numbers that are the same, one counts.
  EXPECT_EQ(refusal("y = x" + repeated(" + 2 * x", 40)), "");
}

TEST(ExpressionErrors, ADerivativeThatIsLargeIsRefusedNotEndless) {
  std::string text = "y = x";
  for (int i = 0; i < 60; ++i) text = cat("y = sin(x * ", text.substr(4), ")");
  for (int i = 0; i < 4; ++i) text = cat("y = d(", text.substr(4), ", x)");
  EXPECT_NE(refusal(text).find("more than 1024 operations, numbers and names"), std::string::npos) << refusal(text);
}

}  // namespace
}  // namespace quern::test::expressions
