// Emitted expressions through NVRTC.
#include "api/runtime_state.h"
#include "base/text.h"
#include "compile/support.h"
#include "expression/emit.h"
#include "expression/gradient.h"
#include "expression/stages.h"

namespace quern::embedded {
Table<SourceFile> common_sources();  // generated with the library
}

namespace quern::test {
namespace {

using ExpressionCompile = CompileTest;
using expression::Program;

// A kernel that calls each function of the program. What it computes is for the device tests.
Unit unit_of(const Program& program) {
  const expression::Stages order = expression::stages(program);
  const std::size_t reduced = order.reductions().size();
  const auto array = [](const char* name, std::size_t count) {
    return cat("*reinterpret_cast<float(*)[", count == 0 ? 1 : count, "]>(", name, ")");
  };
  std::size_t in = 0;
  for (const expression::Operand& input : program.inputs) in += input.in_memory() ? 1 : 0;
  const std::string first = cat(array("data", expression::numbers(program).size()), ", ", array("data + 32", in), ", ",
                                reduced == 0 ? "" : array("data + 64", reduced) + ", ");
  std::string body;
  for (std::size_t round = 0; round < order.rounds.size(); ++round)
    body += cat("  quern::generated::terms_", round, "(", first, array("data + 128", reduced), ");\n");
  body += cat("  quern::generated::compute(", first, array("data + 256", program.outputs.size()), ");\n");

  Unit unit;
  unit.main = {"test.cu", cat("#include \"generated/expression\"\nextern \"C\" __global__ void test(float* data) {\n",
                              body, "}\n")};
  for (const SourceFile& file : embedded::common_sources()) unit.headers.push_back({file.path, file.text});
  unit.headers.push_back({"generated/expression", expression::emit(program, DType::bf16)});
  return unit;
}

// An output of each function, of as many as a program may have.
std::vector<std::string> texts_of_all_functions() {
  std::vector<std::string> texts;
  int outputs = 0;
  for (const expression::Function& f : expression::kFunctions) {
    if (f.result != 'n' || !expression::is_call(f) || f.reference == nullptr) continue;
    std::string arguments;
    const int count = expression::takes_default_alpha(f) && !expression::takes_alpha(f) ? 1 : f.arity();
    for (int i = 0; i < count; ++i) arguments += cat(i == 0 ? "x" : ", x", f.arguments[i] == 'c' ? " > 0" : "");
    if (outputs % expression::kMostOutputs == 0) texts.emplace_back();
    texts.back() += cat("y", outputs++ % expression::kMostOutputs, " = ", f.name, "(", arguments, "); ");
  }
  return texts;
}

TEST_F(ExpressionCompile, EveryFunctionAndItsGradient) {
  std::vector<std::string> texts = texts_of_all_functions();
  texts.emplace_back("w: row; m: number; let c = x - mean(x); y = c * rsqrt(mean(c * c) + 1e-5) * w; z = max(x) / m");
  texts.emplace_back("y = round(x, bf16) + round(x, f16) + round(x, e4m3) + round(x, e5m2) * const -inf");
  Runtime runtime(Options{});
  for (const std::string& text : texts) {
    const Program program = expression::parse(text).program;
    const std::string x = "x";
    const expression::Parsed gradient = expression::gradient(program, {&x, 1});
    ASSERT_TRUE(gradient) << text << gradient.error.text();
    for (const Program* each : {&program, &gradient.program}) {
      for (const Target& target : {Target{80, ""}, Target{90, "a"}}) {
        try {
          const Image image = runtime.state().compiler.nvrtc().compile(unit_of(*each), "test", target, false);
          EXPECT_EQ(image.resources.spill_store_bytes, 0) << text;
        } catch (const Error& error) {
          FAIL() << text << "\n" << error.what() << "\n" << error.log;
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::test
