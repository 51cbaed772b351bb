// Gradients of whole programs, with broadcasts and reductions, against differences.
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/drawn.h"
#include "unit/expression/support.h"

namespace quern::test::expressions {
namespace {

using namespace expression;
using Arrays = std::vector<std::vector<double>>;

std::vector<double> random_array(Random& random, std::size_t size) {
  std::vector<double> all(size);
  for (double& each : all) each = 4 * random.unit() - 2;
  return all;
}

// A program's data by name. What a gradient program calls d_OUT is the weight of that output in a sum.
struct Data {
  Shape shape;
  std::map<std::string, std::vector<double>> arrays;

  Arrays of(const Program& program) const {
    Arrays all;
    for (const expression::Operand& input : program.inputs) all.push_back(arrays.at(input.name));
    return all;
  }
  // The sum of all outputs, weighted.
  double loss(const Program& program) const {
    const Arrays made = evaluate<double>(program, shape, of(program));
    double sum = 0;
    for (std::size_t o = 0; o < made.size(); ++o) {
      const std::vector<double>& weights = arrays.at("d_" + program.outputs[o].name);
      for (std::size_t i = 0; i < made[o].size(); ++i) sum += made[o][i] * weights[i];
    }
    return sum;
  }
};

Data drawn_data(Random& random, const Program& program, Shape shape) {
  Data data{shape, {}};
  for (const expression::Operand& input : program.inputs)
    data.arrays[input.name] = random_array(random, static_cast<std::size_t>(elements(input.kind, shape)));
  for (const Output& output : program.outputs)
    data.arrays["d_" + output.name] = random_array(random, static_cast<std::size_t>(elements(output.kind, shape)));
  return data;
}

// The change of the loss by an element, or NaN at a kink.
double slope_of(const Program& program, Data& data, const std::string& name, std::size_t element) {
  double& x = data.arrays[name][element];
  const double before = x;
  const auto slope = [&](double step) {
    x = before + step;
    const double above = data.loss(program);
    x = before - step;
    const double below = data.loss(program);
    x = before;
    return (above - below) / (2 * step);
  };
  const double wide = slope(1e-5), narrow = slope(3e-6);
  return std::abs(wide - narrow) < 1e-5 * (1 + std::abs(wide)) ? wide : std::nan("");
}

struct Compared {
  int elements = 0;
  int kinks = 0;
};

// The gradient by all inputs, against differences, on random data.
Compared compare(Random& random, const Program& program, Shape shape) {
  std::vector<std::string> names;
  for (const expression::Operand& input : program.inputs) names.push_back(input.name);
  const Program gradient = gradient_of(program, names);
  Data data = drawn_data(random, program, shape);
  const Arrays made = evaluate<double>(gradient, shape, data.of(gradient));
  Compared compared;
  for (std::size_t n = 0; n < names.size(); ++n) {
    EXPECT_EQ(gradient.outputs[n].name, "d_" + names[n]);
    for (std::size_t i = 0; i < made[n].size(); ++i) {
      const double want = slope_of(program, data, names[n], i);
      ++compared.elements;
      if (std::isnan(want)) {
        ++compared.kinks;
      } else {
        EXPECT_NEAR(made[n][i], want, 1e-4 * (1 + std::abs(want)))
            << "d_" << names[n] << "[" << i << "] of " << print(program) << "\n"
            << print(gradient);
      }
    }
  }
  return compared;
}

constexpr const char* kPrograms[] = {
    "b: row; y = gelu(x + b)",
    "b: row; m: number; y = silu(fma(m, z, x) + b)",
    "c: column; s: scalar; r: row; m: number; y = x * c + s * r + tanh(m * c) * r",
    "c: column; s: scalar; r: row; y = exp(-abs(r * c)) * s",  // no full operand
    "r: row; y = sin(r) + x; z = cos(r) * x",
    "w: row; y = x * rsqrt(mean(x * x) + 1e-5) * w",
    "w: row; e: number; y = x * rsqrt(mean(x * x) + abs(e)) * w",  // a number that is used once a row
    "w: row; b: row; let c = x - mean(x); y = c * rsqrt(mean(c * c) + 1e-5) * w + b",
    "let e = exp(x - max(x)); y = e / sum(e)",
    "t: number; let e = exp((x - max(x)) * t); y = e / sum(e); l = log(sum(e)) + max(x)",
    "l = log(sum(exp(x))); n: column; n = sum(x * z) * 2",
    "c: column; y = sum(c * c) + x; s = sum(c)",  // a column along its row
    "c: column; m: number; s = sum(x) * m + c",
    "s: scalar; m: number; l = sum(x) * s * m; y = x * s * m",
    "b: row; g = sum_rows(x * b); h = sum_all(x * x * b); y = x + b",
    "c: column; g = sum_rows(c * x); h = sum_all(c)",
    "s: scalar; g = sum_rows(s * x) ; l = sum_all(s * s)",
    "b: row; x = relu(x + b) * b",
    "b: row; x = softplus(x + b) * b; z = x2 * b",
    "s: column; s = sum(x) ; y = x / (width() + rows())",
    "m: number; y = x * elu(z - 1, m)",
};

TEST(ExpressionGradients, AreThoseOfDifferences) {
  Random random(seed_of_run());
  int elements = 0, kinks = 0;
  for (const char* text : kPrograms) {
    for (const Shape& shape : {Shape{3, 4}, Shape{1, 5}, Shape{4, 1}, Shape{1, 1}}) {
      const Compared compared = compare(random, parsed(text), shape);
      elements += compared.elements;
      kinks += compared.kinks;
    }
  }
  EXPECT_LT(kinks, elements / 50);
}

// Operands of every kind, and some of the names replaced by reductions.
std::string random_program(Random& random) {
  Vocabulary words;
  words.inputs = {"x", "r", "c", "s", "m"};
  words.rounds = false;
  std::string text = "r: row; c: column; s: scalar; m: number; let a0 = x + r + c + s + m";
  const char* const reductions[] = {"sum", "mean", "max"};
  for (int i = 0; i < 2; ++i) {
    text +=
        cat("; let a", i + 1, " = ", reductions[random.below(3)], "(tanh(", plain_text(*draw(random, words, 3)), "))");
    words.inputs.push_back(cat("a", i + 1));
  }
  return cat(text, "; y = a0 + a1 + a2 + ", plain_text(*draw(random, words, 4)), "; g = sum_rows(a1 * ",
             plain_text(*draw(random, words, 2)), "); v: column; v = sum(", plain_text(*draw(random, words, 3)),
             ") + m");
}

TEST(ExpressionGradients, OfRandomProgramsAreThoseOfDifferences) {
  Random random(seed_of_run());
  int elements = 0, kinks = 0;
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const Compared compared = compare(random, parsed(random_program(random)), {2, 3});
    elements += compared.elements;
    kinks += compared.kinks;
  }
  EXPECT_LT(kinks, elements / 5);
}

TEST(ExpressionGradients, AreProgramsAndHaveGradients) {
  Random random(seed_of_run());
  for (const char* text : kPrograms) {
    const Program program = parsed(text);
    const Program first = gradient_of(program, {program.inputs[0].name});
    const Parsed again = parse(print(first));
    ASSERT_TRUE(again) << print(first) << "\n" << again.error.text();
    EXPECT_EQ(again.program, first) << print(first);
    if (std::string_view(text).find("max(x)") != std::string_view::npos) continue;  // kinks
    const Compared compared = compare(random, first, {2, 3});
    EXPECT_LE(compared.kinks, compared.elements / 10) << print(first);
  }
}

TEST(ExpressionGradients, HaveTheNamesTypesAndKindsOfWhatTheyAreOf) {
  const Program program =
      parsed("b: f32 row; c: bf16 column; m: number; y: f16; y = x * c + b * m; s: f32; s = sum(x)");
  const Program gradient = gradient_of(program, {"b", "c", "m", "x"});
  ASSERT_EQ(gradient.outputs.size(), 4U);
  const auto expect = [](const auto& operand, const char* name, DType dtype, Kind kind) {
    EXPECT_EQ(operand.name, name);
    EXPECT_EQ(operand.dtype, dtype) << name;
    EXPECT_EQ(operand.kind, kind) << name;
  };
  expect(gradient.outputs[0], "d_b", f32, Kind::row);
  expect(gradient.outputs[1], "d_c", bf16, Kind::column);
  expect(gradient.outputs[2], "d_m", f32, Kind::scalar);
  expect(gradient.outputs[3], "d_x", DType::none, Kind::full);
  std::map<std::string, expression::Operand> inputs;
  for (const expression::Operand& input : gradient.inputs) inputs[input.name] = input;
  EXPECT_EQ(inputs.size(), 6U);
  expect(inputs["d_y"], "d_y", f16, Kind::full);
  expect(inputs["d_s"], "d_s", f32, Kind::column);
  expect(inputs["b"], "b", f32, Kind::row);
  expect(inputs["m"], "m", DType::none, Kind::constant);
}

std::string gradient_text(const std::string& program, const std::vector<std::string>& names) {
  return print(gradient_of(parsed(program), names));
}

TEST(ExpressionGradients, ReadSavedOutputsInsteadOfComputingThemAgain) {
  EXPECT_EQ(gradient_text("y = exp(x)", {"x"}), "d_x = d_y * exp(x)");
  EXPECT_EQ(gradient_text("y: saved; y = exp(x)", {"x"}), "d_x = d_y * y");
  EXPECT_EQ(gradient_text("y: bf16 saved; y = tanh(x)", {"x"}), "d_y: bf16; y: bf16; d_x = d_y * (const 1 - y * y)");
  EXPECT_EQ(gradient_text("y: saved; y = x + 1", {"x"}), "d_x = d_y") << "which no gradient needs";
  EXPECT_EQ(gradient_text("s: saved; let t = sum(exp(x)); s = t; y = log(t)", {"x"}),
            "d_s: column; d_y: column; s: column; d_x = (d_s + d_y / s) * exp(x)");
}

// With the outputs of the program itself: the same operations, so the same bits.
TEST(ExpressionGradients, OfSavedOutputsHaveTheSameValues) {
  Random random(seed_of_run());
  int read = 0;
  for (int i = 0; i < 60; ++i) {
    const Program plain = parsed(cat(random_program(random), "; w = exp(a0 * 0.25)"));
    Program saved = plain;
    for (Output& output : saved.outputs)
      output.saved = output.kind == saved.tree[output.value].kind && output.kind >= Kind::column;
    const Parsed again = parse(print(saved));
    ASSERT_TRUE(again) << print(saved) << "\n" << again.error.text();
    EXPECT_EQ(again.program, saved);
    const std::vector<std::string> names = {plain.inputs[0].name, plain.inputs[1].name};
    const Program gradient = gradient_of(plain, names), of_saved = gradient_of(saved, names);
    Data data = drawn_data(random, plain, {2, 3});
    const Arrays outputs = evaluate<double>(plain, data.shape, data.of(plain));
    for (std::size_t o = 0; o < outputs.size(); ++o) data.arrays[plain.outputs[o].name] = outputs[o];
    EXPECT_EQ(evaluate<double>(of_saved, data.shape, data.of(of_saved)),
              evaluate<double>(gradient, data.shape, data.of(gradient)))
        << print(saved);
    for (const expression::Operand& input : of_saved.inputs) read += input.name == "w" ? 1 : 0;
  }
  EXPECT_GT(read, 0) << "nothing that was saved was read";
}

TEST(ExpressionGradients, RefuseASavedOutputWithTheNameOfAGradient) {
  const Parsed refused = gradient(parsed("d_y: saved; y = exp(x); d_y = exp(y2)"), std::vector<std::string>{"x", "y2"});
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.error.message, "the name d_y is taken; give that input another name");
}

TEST(ExpressionGradients, ReadOnlyWhatTheyNeed) {
  EXPECT_EQ(print(gradient_of(parsed("b: row; y = x + b"), {"x"})), "d_x = d_y");
  EXPECT_EQ(print(gradient_of(parsed("b: row; y = x + b"), {"b"})), "d_b = sum_rows(d_y)");
  EXPECT_EQ(print(gradient_of(parsed("s: f32 scalar; y = x + s; z = x * 2"), {"s"})), "d_s: f32; d_s = sum_all(d_y)");
  EXPECT_EQ(print(gradient_of(parsed("y = x * 3"), {"x"})), "d_x = d_y * 3");
  EXPECT_EQ(print(gradient_of(parsed("y = floor(x)"), {"x"})), "d_x = const 0");
  EXPECT_EQ(print(gradient_of(parsed("b: row; y = floor(b) + x"), {"b", "x"})), "d_b = sum_rows(const 0); d_x = d_y");
  // In place: d_x is read and replaced, and what else needs it comes before.
  EXPECT_EQ(print(gradient_of(parsed("c: column; x = x * c"), {"x", "c"})),
            "c: column; let t1 = sum(d_x * x); d_x = d_x * c; d_c = t1");
  // A common part is computed once.
  EXPECT_EQ(print(gradient_of(parsed("b: row; y = relu(x + b)"), {"x", "b"})),
            "b: row; let t1 = relu_slope(x + b); let t2 = where(t1 == const 0, const 0, d_y * t1); d_x = t2; "
            "d_b = sum_rows(t2)");
}

TEST(ExpressionGradients, OfEqualMaximaAreShared) {
  const Program gradient = gradient_of(parsed("y = max(x)"), {"x"});
  const Arrays made = evaluate<double>(gradient, {1, 4}, {{5, 2, 5, 1}, {8}});
  ASSERT_EQ(gradient.inputs[0].name, "x");
  EXPECT_EQ(made[0], (std::vector<double>{4, 0, 4, 0}));
}

std::string refusal(const char* text, const std::vector<std::string>& names) {
  const Parsed made = gradient(parsed(text), names);
  return made ? "" : made.error.text();
}

TEST(ExpressionGradients, AreRefusedByName) {
  EXPECT_EQ(refusal("b: row; y = x + b", {"z"}), "the program has no input z; its inputs are x, b");
  EXPECT_EQ(refusal("y = x", {"y"}), "the program has no input y; its inputs are x");
  EXPECT_EQ(refusal("y = x", {}), "a gradient is of one name or more");
  EXPECT_EQ(refusal("y = x", {"x", "x"}), "x is named twice");
  EXPECT_EQ(refusal("y = x * d_y", {"x"}), "the name d_y is taken; give that input another name");
  std::string large = "let t0 = x";
  for (int i = 1; i <= 400; ++i) large += cat("; let t", i, " = mish(t", i - 1, ")");
  EXPECT_EQ(refusal((large + "; y = t400").c_str(), {"x"}),
            "the gradient has more than 1024 operations, numbers and names");
}

// Found by fuzzing: d_ made of a name that is as long as names may be one that no text may have.
TEST(ExpressionGradients, OfALongNameAreRefused) {
  const std::string name(64, 'b');
  EXPECT_EQ(refusal(("y = " + name).c_str(), {name}), "the gradient has a name of more than 64 letters");
  EXPECT_EQ(refusal(("y = " + name.substr(2)).c_str(), {name.substr(2)}), "");
}

}  // namespace
}  // namespace quern::test::expressions
