// Emitted expressions on whichever device this is: the bits of the float interpreter where all functions are exact, and
// every function of the table within its bound.
#include <gtest/gtest.h>

#include <bit>

#include "base/text.h"
#include "expression/emit.h"
#include "expression/evaluate.h"
#include "expression/print.h"
#include "support/device.h"
#include "support/test_kernel.h"

namespace quern::test {
namespace {

using expression::Function;
using expression::Program;

// What a thread reads as an input, here and in the kernel.
float input_of(int thread, int input) { return static_cast<float>((thread * 37 + input * 11) % 41 - 20) / 8.0F; }
constexpr const char* kInputOf = R"(
QUERN_DEVICE float input_of(int thread, int input) { return static_cast<float>((thread * 37 + input * 11) % 41 - 20) / 8.0f; }
)";

class Expressions : public DeviceTest {
 protected:
  static constexpr int kThreads = 64;

  static Program parsed(const std::string& text) {
    expression::Parsed result = expression::parse(text);
    EXPECT_TRUE(result) << text << "\n" << result.error.text();
    return std::move(result.program);
  }

  // The first output of each program for each thread. Literals are the launch's numbers.
  std::vector<std::vector<float>> run(const std::vector<Program>& programs, DType dtype) {
    std::string before = kInputOf, body = "const int t = threadIdx.x;\n";
    for (std::size_t i = 0; i < programs.size(); ++i) append(programs[i], dtype, i, before, body);
    const TestKernel kernel(runtime().state().compiler, options().driver, body, before);
    const std::vector<int> bits = kernel.run({1, kThreads}, static_cast<int>(programs.size()) * kThreads);
    std::vector<std::vector<float>> all(programs.size());
    for (std::size_t i = 0; i < bits.size(); ++i) all[i / kThreads].push_back(std::bit_cast<float>(bits[i]));
    return all;
  }

  static void append(const Program& program, DType dtype, std::size_t number, std::string& before, std::string& body) {
    std::string text = expression::emit(program, dtype);
    const std::string space = "namespace quern::generated";
    for (std::size_t at = text.find(space); at != std::string::npos; at = text.find(space, at + 1))
      text.insert(at + space.size(), cat("::p", number));
    before += text;
    std::string numbers, in;
    for (const expression::Number& each : expression::numbers(program))
      numbers += cat(numbers.empty() ? "" : ", ", "bit_cast<float>(", std::bit_cast<std::uint32_t>(each.value), "u)");
    for (std::size_t i = 0; i < program.inputs.size(); ++i) in += cat(i == 0 ? "" : ", ", "input_of(t, ", i, ")");
    body += cat("{ const float numbers[] = {", numbers.empty() ? "0" : numbers, "}, in[] = {", in,
                "}; float made[1];\n  quern::generated::p", number, "::compute(numbers, in, made);\n  store<4>(out + ",
                number * kThreads, " + t, {{bit_cast<u32>(made[0])}}); }\n");
  }

  static float interpreted(const Program& program, int thread) {
    std::vector<std::vector<float>> inputs;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) inputs.push_back({input_of(thread, static_cast<int>(i))});
    return expression::evaluate<float>(program, {1, 1}, inputs)[0][0];
  }
};

TEST_F(Expressions, OfExactFunctionsHaveTheBitsOfTheInterpreter) {
  const char* const texts[] = {"y = x * 3 + b / c - 0.1",
                               "y = fma(x, 0.1, b) * const 0.1",
                               "y = min(x, b) - max(b, c)",
                               "y = clamp(x, -1, b)",
                               "y = where(x < b and not b > c or x == 0.5, x * x, -b)",
                               "y = round(x * 0.1, bf16) + round(b / 3, f16)",
                               "y = round(x * 9, e4m3) * round(b / 7, e5m2)",
                               "y = relu(x) * abs(b) + leaky_relu(c)",
                               "y = floor(x) + ceil(b * 0.3) + trunc(c) + rint(x * 2)",
                               "y = sign(x) * square(b) + reciprocal(c)",
                               "y = sqrt(abs(x)) / (x - x)",
                               "y = x / 0 + nan * b",
                               "y = -x * inf + min(b, nan)",
                               "y = max(x, nan)",
                               "y = d(relu(x) * b + clamp(x, -1, 1) * max(x, b), x)",
                               "y = fatrelu(x, 0.5) + srelu(b)",
                               "y = x * const 1e-40 + const -inf * b",
                               "y = min(x * 0, -0) + max(-(b * 0), 0)"};
  std::vector<Program> programs;
  for (const char* text : texts) programs.push_back(parsed(text));
  const auto got = run(programs, f32);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    for (int t = 0; t < kThreads; ++t) {
      const float made = got[i][static_cast<std::size_t>(t)], want = interpreted(programs[i], t);
      EXPECT_TRUE(std::bit_cast<int>(made) == std::bit_cast<int>(want) || (std::isnan(made) && std::isnan(want)))
          << texts[i] << " in thread " << t << ": " << made << ", not " << want;
    }
  }
}

// "elu(x, b)": a call with different arguments, of which a sum or difference keeps all in the function's domain.
std::string call_of(const Function& f) {
  const std::string names[] = {"x", "b", "c"};
  const int count = expression::takes_default_alpha(f) && !expression::takes_alpha(f) ? 1 : f.arity();
  std::string text;
  for (int i = 0; i < count; ++i) text += cat(i == 0 ? "" : ", ", names[i], f.arguments[i] == 'c' ? " > 0" : "");
  return cat(f.name, "(", text, ")");
}

TEST_F(Expressions, EveryFunctionIsNearItsReference) {
  std::vector<Program> programs;
  std::vector<std::string> calls;
  for (const Function& f : expression::kFunctions) {
    if (f.result != 'n' || f.reference == nullptr || !expression::is_call(f)) continue;
    calls.push_back(call_of(f));
    programs.push_back(parsed("y = " + calls.back()));
  }
  for (const DType dtype : {f32, bf16}) {  // bf16: the root is NarrowStore
    const auto got = run(programs, dtype);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      for (int t = 0; t < kThreads; ++t) {
        std::vector<std::vector<double>> inputs;
        for (std::size_t k = 0; k < programs[i].inputs.size(); ++k)
          inputs.push_back({static_cast<double>(input_of(t, static_cast<int>(k)))});
        const double want = expression::evaluate<double>(programs[i], {1, 1}, inputs)[0][0];
        const auto made = static_cast<double>(got[i][static_cast<std::size_t>(t)]);
        const double bound = (dtype == f32 ? 4e-6 : 0x1p-13) * (0.1 + std::abs(want));
        EXPECT_TRUE(std::abs(made - want) <= bound || made == want || (std::isnan(made) && std::isnan(want)))
            << calls[i] << " as " << name(dtype) << " in thread " << t << ": " << made << ", not " << want;
      }
    }
  }
}

}  // namespace
}  // namespace quern::test
