// Programs as applications see them: quern/program.h, and the same in C.
#include <gtest/gtest.h>

#include <memory>

#include "quern/c.h"
#include "quern/error.h"
#include "quern/program.h"
#include "support/has.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

constexpr const char* kProgram = "let t = y + m * x; b: f32 row; out: bf16; out = relu(t * b); s = sum(x)";

std::string text_of(const std::vector<ProgramOperand>& operands) {
  std::string all;
  for (const ProgramOperand& operand : operands)
    all += operand.name + ":" + name(operand.dtype) + ":" + operand.kind + " ";
  return all;
}

TEST(PublicProgram, SaysWhatItTakesAndMakes) {
  const ProgramInfo program = read_program("m: number; " + std::string(kProgram));
  EXPECT_EQ(program.text, "m: number; b: f32 row; out: bf16; out = relu((y + m * x) * b); s = sum(x)");
  EXPECT_EQ(text_of(program.inputs), "y:none:full m:none:number x:none:full b:f32:row ");
  EXPECT_EQ(text_of(program.outputs), "out:bf16:full s:none:column ");
  EXPECT_EQ(read_program(program.text).text, program.text);
}

TEST(PublicProgram, HasAGradientThatIsAProgram) {
  const ProgramInfo made = gradient("m: number; " + std::string(kProgram), {"b", "m"});
  EXPECT_EQ(text_of(made.inputs), "y:none:full m:none:number x:none:full b:f32:row d_out:bf16:full ");
  EXPECT_EQ(text_of(made.outputs), "d_b:f32:row d_m:f32:scalar ");
  EXPECT_EQ(read_program(made.text).text, made.text);
  EXPECT_EQ(text_of(gradient(gradient("y = x * x * x", {"x"}).text, {"x"}).outputs), "d_x:none:full ");
}

TEST(PublicProgram, SaysWhatIsWrong) {
  EXPECT_TRUE(has(refusal([] { read_program("y = gleu(x)"); }).sentence, "the program does not parse: 1:5:"));
  EXPECT_TRUE(has(refusal([] { gradient("y = +", {"x"}); }).sentence, "the program does not parse: 1:5:"));
  EXPECT_TRUE(has(refusal([] { gradient("y = x", {"z"}); }).sentence, "no input z; its inputs are x"));
  EXPECT_TRUE(has(refusal([] { gradient("y = x", {}); }).sentence, "of one name or more"));
  EXPECT_TRUE(has(refusal([] { gradient("y = x", {"x", "x"}); }).sentence, "x is named twice"));
}

struct Free {
  void operator()(quern_program* program) const { quern_program_free(program); }
  void operator()(quern_error* error) const { quern_error_free(error); }
};

TEST(PublicProgram, IsTheSameInC) {
  quern_program* out = nullptr;
  ASSERT_EQ(quern_program_read("b: f32 row; out = x * b", &out, nullptr), QUERN_OK);
  const std::unique_ptr<quern_program, Free> read(out);
  EXPECT_STREQ(read->text, "b: f32 row; out = x * b");
  ASSERT_EQ(read->input_count, 2U);
  EXPECT_STREQ(read->inputs[1].name, "b");
  EXPECT_STREQ(read->inputs[1].dtype, "f32");
  EXPECT_STREQ(read->inputs[1].kind, "row");
  ASSERT_EQ(read->output_count, 1U);
  EXPECT_STREQ(read->outputs[0].dtype, "none");
  const char* const names[] = {"x"};
  ASSERT_EQ(quern_program_gradient(read->text, names, 1, &out, nullptr), QUERN_OK);
  const std::unique_ptr<quern_program, Free> made(out);
  EXPECT_STREQ(made->text, "b: f32 row; d_x = d_out * b");
  EXPECT_STREQ(made->outputs[0].name, "d_x");
}

TEST(PublicProgram, IsRefusedInC) {
  quern_program* out = nullptr;
  quern_error* error = nullptr;
  EXPECT_EQ(quern_program_read("y = x +", &out, &error), QUERN_BAD_INPUT);
  const std::unique_ptr<quern_error, Free> owned(error);
  EXPECT_TRUE(has(owned->sentence, "the program does not parse: 1:8:"));
  EXPECT_EQ(quern_program_read(nullptr, &out, nullptr), QUERN_BAD_INPUT);
  EXPECT_EQ(quern_program_read("y = x", nullptr, nullptr), QUERN_BAD_INPUT);
  const char* const names[] = {nullptr};
  EXPECT_EQ(quern_program_gradient("y = x", names, 1, &out, nullptr), QUERN_BAD_INPUT);
  EXPECT_EQ(quern_program_gradient("y = x", nullptr, 1, &out, nullptr), QUERN_BAD_INPUT);
  EXPECT_EQ(quern_program_gradient("y = x", nullptr, 0, &out, nullptr), QUERN_BAD_INPUT);
  EXPECT_EQ(out, nullptr);
  quern_program_free(nullptr);
}

}  // namespace
}  // namespace quern::test
