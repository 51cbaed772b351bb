// The emitted C++, compiled for this CPU: the bits of the float interpreter.
#include "expression/emit.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>

#include "base/text.h"
#include "expression/stages.h"
#include "support/drawn.h"
#include "support/has.h"
#include "support/scratch.h"
#include "unit/api/fake_nvrtc.h"
#include "unit/expression/support.h"

namespace quern::test::expressions {
namespace {

using namespace expression;

std::size_t at_least_one(std::size_t count) { return count == 0 ? 1 : count; }

// The program's functions behind pointers: terms_NUMBER_ROUND and compute_NUMBER.
std::string callable(const Program& program, DType dtype, std::size_t number) {
  std::string text = emit(program, dtype);
  const std::string space = "namespace quern::generated";
  for (std::size_t at = text.find(space); at != std::string::npos; at = text.find(space, at + 1))
    text.insert(at + space.size(), cat("::p", number));
  const Stages order = stages(program);
  const std::size_t reduced = order.reductions().size();
  std::size_t in = 0;
  for (const expression::Operand& input : program.inputs) in += input.in_memory() ? 1 : 0;
  const auto array = [](const char* type, const char* name, std::size_t count) {
    return cat("*reinterpret_cast<", type, "(*)[", at_least_one(count), "]>(", name, ")");
  };
  const auto wrapper = [&](const std::string& function, std::size_t results) {
    text +=
        cat("extern \"C\" void ", function, "_", number,
            "(const float* numbers, const float* in, const float* reduced, float* kept, bool has_kept, float* out) {\n"
            "  (void)reduced, (void)kept, (void)has_kept;\n"
            "  quern::generated::p",
            number, "::", function, "(", array("const float", "numbers", numbers(program).size()), ", ",
            array("const float", "in", in), ", ", reduced == 0 ? "" : array("const float", "reduced", reduced) + ", ",
            order.kept.empty() ? "" : array("float", "kept", order.kept.size()) + ", has_kept, ",
            array("float", "out", results), ");\n}\n");
  };
  for (std::size_t round = 0; round < order.rounds.size(); ++round) wrapper(cat("terms_", round), reduced);
  wrapper("compute", program.outputs.size());
  return text;
}

using Function = void (*)(const float* numbers, const float* in, const float* reduced, float* kept, bool has_kept,
                          float* out);

// All programs in one library. Without builtins: of constants the compiler's functions are more exact than the
// library's.
class Emitted {
 public:
  explicit Emitted(const std::vector<Program>& programs, DType dtype = f32) {
    const Scratch scratch;
    std::ofstream file(scratch / "emitted.cpp");
    for (std::size_t i = 0; i < programs.size(); ++i) file << callable(programs[i], dtype, i);
    file.close();
    const std::string path = scratch / "emitted.so";
    std::string words;
    const bool made = run_compiler(
        "-std=c++17 -O1 -fno-builtin -Wall -Wextra -Wshadow -Werror -shared -fPIC -ffp-contract=off -I" QUERN_TESTS
        "/../templates -I" QUERN_TESTS "/../include -o " +
            path + " " + scratch / "emitted.cpp",
        &words);
    EXPECT_TRUE(made) << words;
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  Function operator()(const std::string& name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name.c_str()));
  }

 private:
  void* library_ = nullptr;
};

// A program's data, as a launch gives them.
struct LaunchData {
  expression::Shape shape;
  std::vector<std::vector<float>> inputs;
  std::vector<float> numbers;

  LaunchData(Random& random, const Program& program, expression::Shape of) : shape(of) {
    for (const expression::Operand& input : program.inputs) {
      inputs.emplace_back(static_cast<std::size_t>(elements(input.kind, shape)));
      for (float& each : inputs.back()) each = static_cast<float>(4 * random.unit() - 2);
    }
    for (const Number& number : expression::numbers(program)) {
      using Source = Number::Source;
      numbers.push_back(number.source == Source::literal   ? number.value
                        : number.source == Source::operand ? inputs[static_cast<std::size_t>(number.operand)][0]
                        : number.source == Source::width   ? static_cast<float>(shape.width)
                                                           : static_cast<float>(shape.rows));
    }
    numbers.resize(at_least_one(numbers.size()));
  }

  std::vector<float> element(const Program& program, std::int64_t row, std::int64_t column) const {
    std::vector<float> in;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Kind kind = program.inputs[i].kind;
      if (kind == Kind::constant) continue;
      const std::int64_t place = (kind == Kind::full     ? row * shape.width + column
                                  : kind == Kind::row    ? column
                                  : kind == Kind::column ? row
                                                         : 0);
      in.push_back(inputs[i][static_cast<std::size_t>(place)]);
    }
    in.resize(at_least_one(in.size()));
    return in;
  }
};

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// A row by the emitted functions: round after round of reductions, then the outputs of each element, from what they
// have kept of it or not.
void expect_row(const Emitted& emitted, const Program& program, std::size_t number, const LaunchData& data,
                std::int64_t row, RowInterpreter<float>& want, bool has_kept) {
  const Stages order = stages(program);
  const std::vector<Id> reductions = order.reductions();
  std::vector<float> reduced(at_least_one(reductions.size()), -1e30F), terms(reduced.size());
  std::vector<std::vector<float>> kept(static_cast<std::size_t>(data.shape.width),
                                       std::vector<float>(kMostKept, -1e30F));
  std::size_t first = 0;
  for (std::size_t round = 0; round < order.rounds.size(); ++round) {
    const Function function = emitted(cat("terms_", round, "_", number));
    ASSERT_NE(function, nullptr);
    std::vector<std::vector<float>> all(reductions.size());
    for (std::int64_t c = 0; c < data.shape.width; ++c) {
      function(data.numbers.data(), data.element(program, row, c).data(), reduced.data(),
               kept[static_cast<std::size_t>(c)].data(), has_kept, terms.data());
      for (std::size_t i = 0; i < order.rounds[round].size(); ++i) {
        const Id argument = program.tree[order.rounds[round][i]].arguments[0];
        ASSERT_TRUE(same(terms[first + i], want.value(argument, c))) << print(program);
      }
    }
    for (const Id id : order.rounds[round]) reduced[first++] = want.value(id, 0);
  }
  const Function compute = emitted(cat("compute_", number));
  ASSERT_NE(compute, nullptr);
  std::vector<float> out(program.outputs.size());
  for (std::int64_t c = 0; c < data.shape.width; ++c) {
    compute(data.numbers.data(), data.element(program, row, c).data(), reduced.data(),
            kept[static_cast<std::size_t>(c)].data(), has_kept, out.data());
    for (std::size_t o = 0; o < out.size(); ++o)
      ASSERT_TRUE(same(out[o], want.value(program.outputs[o].value, c)))
          << print(program) << "\n"
          << out[o] << " " << want.value(program.outputs[o].value, c) << "\n"
          << emit(program, f32);
  }
}

void expect_bits(Random& random, const std::vector<Program>& programs) {
  const Emitted emitted(programs);
  for (std::size_t i = 0; i < programs.size() && !testing::Test::HasFailure(); ++i) {
    const LaunchData data(random, programs[i], {2, 3});
    RowInterpreter<float> want(programs[i], data.shape, [&](int input, std::int64_t row, std::int64_t column) {
      const Kind kind = programs[i].inputs[static_cast<std::size_t>(input)].kind;
      return data.inputs[static_cast<std::size_t>(input)]
                        [static_cast<std::size_t>(kind == Kind::full ? row * 3 + column : row + column)];
    });
    for (std::int64_t row = 0; row < 2; ++row) {
      want.evaluate(row);
      expect_row(emitted, programs[i], i, data, row, want, false);
      expect_row(emitted, programs[i], i, data, row, want, true);
    }
  }
}

TEST(ExpressionEmit, HasTheBitsOfTheInterpreter) {
  Random random(seed_of_run());
  std::vector<Program> programs;
  for (int i = 0; i < 60; ++i)
    programs.push_back(
        parsed(cat("out = ", plain_text(*draw(random, {}, 5)), "; also = ", plain_text(*draw(random, {}, 3)))));
  for (const char* text :
       {"b: row; c: column; s: scalar; m: number; y = silu(x + b) * c - s / m; x = x * inf - const -0.5 + nan",
        "y = x * width() + rows()", "y = 2", "y = const 2", "y = x; z = x", "s = sum_rows(x * x); t = sum_all(gelu(x))",
        "w: row; y = x * rsqrt(mean(x * x) + 1e-5) * w; x2 = x", "y = exp(x - max(x)) / sum(exp(x - max(x)))",
        "y = x + sum(const 1); z: column; z = mean(x) * const -inf",
        "y = round(x, f16) + round(x, e4m3) + round(x, e5m2) - const 1e-40"})
    programs.push_back(parsed(text));
  programs.push_back(gradient_of(programs[66], {"x", "w"}));
  programs.push_back(gradient_of(programs[67], {"x"}));
  programs.push_back(gradient_of(parsed("b: row; y = gelu_tanh(relu(x) + b)"), {"x", "b"}));
  expect_bits(random, programs);
}

TEST(ExpressionEmit, RoundsAnActivationAtTheRootAsTheStoredTypeNeeds) {
  const Program program =
      parsed("y = gelu(x); z: f32; z = gelu(x); w = gelu(x) * 2; v = silu(x) + 1; u = silu_slope(x)");
  const std::string text = emit(program, bf16);
  EXPECT_TRUE(has(text, "out[0] = activate<Activation::gelu>(in_x, 0.0f, NarrowStore());  // y")) << text;
  EXPECT_TRUE(has(text, "const float t1 = activate<Activation::gelu>(in_x, 0.0f, NoRounding());")) << text;
  EXPECT_TRUE(has(text, "out[1] = t1;  // z")) << text;
  EXPECT_TRUE(has(text, "const float t2 = t1 * numbers[0];")) << text;
  EXPECT_EQ(text.find("NarrowStore"), text.rfind("NarrowStore"));
  EXPECT_EQ(emit(program, f32).find("NarrowStore"), std::string::npos);
  const Emitted emitted({program}, bf16);
  const Function compute = emitted("compute_0");
  ASSERT_NE(compute, nullptr);
  const float numbers[] = {2, 1}, in[] = {-7.5F};
  float out[5];
  compute(numbers, in, nullptr, nullptr, false, out);
  EXPECT_EQ(out[0], common::activate<Activation::gelu>(-7.5F, 0.0F, common::NarrowStore()));
  EXPECT_EQ(out[1], common::activate<Activation::gelu>(-7.5F, 0.0F, common::NoRounding()));
  EXPECT_NE(out[0], out[1]);
}

TEST(ExpressionEmit, KeepsOfAnElementWhatTakesLong) {
  const std::string text = emit(parsed("y = exp(x - max(x)) / sum(exp(x - max(x)))"), f32);
  EXPECT_TRUE(has(text, "  const float t2 = expf(t1);\n  terms[1] = t2;\n  kept[0] = t2;\n")) << text;
  EXPECT_TRUE(has(text, "  const float t2 = has_kept ? kept[0] : expf(t1);\n")) << text;
  const auto kept = [](const char* program) { return stages(parsed(program)).kept.size(); };
  EXPECT_EQ(kept("y = x * rsqrt(mean(x * x) + 1e-5)"), 0) << "a row has one";
  EXPECT_EQ(kept("y = exp(x)"), 0) << "no terms need it";
  EXPECT_EQ(kept("y = x + sum(exp(x))"), 0) << "no output needs it";
  const auto needs_inputs = [](const char* program) { return stages(parsed(program)).needs_inputs_beside_kept; };
  EXPECT_FALSE(needs_inputs("y = exp(x - max(x)) / sum(exp(x - max(x)))"));
  EXPECT_TRUE(needs_inputs("y = exp(x) / sum(exp(x)) * x"));
  EXPECT_FALSE(needs_inputs("w: row; y = exp(x) / sum(exp(x)) * w")) << "not full";
  EXPECT_EQ(kept("let a = exp(x); let b = tanh(x); let c = erf(x); y = sum(a * b * c) + a + b + c"), kMostKept);
}

TEST(ExpressionEmit, DividesByWhatManyElementsHave) {
  const auto divides = [](const char* program) { return has(emit(parsed(program), f32), "divided_by_same(in_x, "); };
  EXPECT_TRUE(divides("y = x / sum(x)"));
  EXPECT_TRUE(divides("s: scalar; y = x / s"));
  EXPECT_TRUE(divides("m: number; y = x / m"));
  EXPECT_TRUE(divides("c: column; y = x / c + max(x)")) << "where a thread has a row";
  EXPECT_FALSE(divides("c: column; y = x / c"));
  EXPECT_FALSE(divides("y = x / z"));
  EXPECT_FALSE(divides("y = x / const 3"));
  const auto nearly = [](const char* program, DType dtype) {
    return has(emit(parsed(program), dtype), "nearly_divided_by_same(");
  };
  EXPECT_TRUE(nearly("s: scalar; y = exp(x) / s", bf16));
  EXPECT_TRUE(nearly("y = x / sum(exp(x))", bf16));
  EXPECT_FALSE(nearly("y = x / sum(exp(x))", f32));
  EXPECT_FALSE(nearly("let e = exp(x); y = floor(e / max(e))", bf16)) << "1 is 1";
  EXPECT_FALSE(nearly("y = x / sqrt(mean(x * x))", bf16)) << "its bits are the reference's";
}

TEST(ExpressionEmit, DependsOnNoLiteral) {
  EXPECT_EQ(emit(parsed("y = x * 2 + clamp(x, -1, inf)"), f32), emit(parsed("y = x * 0.7 + clamp(x, 5, -1e-3)"), f32));
  EXPECT_NE(emit(parsed("y = x * const 2"), f32), emit(parsed("y = x * const 3"), f32));
  EXPECT_NE(emit(parsed("y = elu(x)"), f32), emit(parsed("y = elu(x, 2)"), f32));
}

TEST(ExpressionEmit, IsReadable) {
  EXPECT_EQ(
      emit(parsed("b: f32 row; m: number; y = relu(x + m * b); x = where(x < 2 and b > m, -x, round(b, f16))"), f32),
      R"(#include "common/numbers.cuh"
#include "common/elementwise.cuh"
#include "common/activations.cuh"

namespace quern::generated {

using namespace common;

QUERN_DEVICE void compute([[maybe_unused]] const float (&numbers)[2], [[maybe_unused]] const float (&in)[2], [[maybe_unused]] float (&out)[2]) {
  const float in_x = in[0];
  const float in_b = in[1];
  const float t1 = numbers[0] * in_b;
  const float t2 = in_x + t1;
  const float t3 = activate<Activation::relu>(t2, 0.0f, NoRounding());
  const bool t4 = in_x < numbers[1];
  const bool t5 = in_b > numbers[0];
  const bool t6 = t4 && t5;
  const float t7 = -in_x;
  const float t8 = round_to<common::Fp16>(in_b);
  const float t9 = t6 ? t7 : t8;
  out[0] = t3;  // y
  out[1] = t9;  // x
}

}  // namespace quern::generated
)");
}

TEST(ExpressionStages, AreTheRoundsOfReductions) {
  const Program program = parsed("let c = x - mean(x); y = c * rsqrt(mean(c * c) + sum(x) + 1)");
  const Stages order = stages(program);
  ASSERT_EQ(order.rounds.size(), 2U);
  EXPECT_EQ(order.rounds[0].size(), 2U);
  EXPECT_EQ(order.rounds[1].size(), 1U);
  EXPECT_TRUE(program.tree[order.rounds[1][0]].is(kMean));
  EXPECT_EQ(order.needs[static_cast<std::size_t>(program.outputs[0].value)], 2);
  EXPECT_TRUE(stages(parsed("y = x + 1; s = sum_all(x)")).rounds.empty());
}

}  // namespace
}  // namespace quern::test::expressions
