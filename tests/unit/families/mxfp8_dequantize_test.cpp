// mxfp8_dequantize's refusals, variants, the memory of its operands, and what old texts of mxfp8 are told.
#include "mxfp8_dequantize/mxfp8_dequantize.h"

#include <gtest/gtest.h>

#include "mxfp8/mxfp8.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

using test::problem;

std::string refusal(const std::string& fields) {
  const AnyProblem p = problem("mxfp8_dequantize " + fields);
  return Mxfp8Dequantize::family().check(p.data());
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

std::int64_t span(const std::string& text, std::string_view operand) {
  const AnyProblem p = problem(text);
  for (const Operand& each : p.family().operands) {
    if (each.name == operand) return each.layout(p.data()).span_bytes();
  }
  return -1;
}

std::string error_of(const std::string& text) {
  try {
    problem(text);
  } catch (const Error& error) {
    return error.sentence;
  }
  return "";
}

std::string summary(const std::string& fields) {
  std::string text;
  for (const Variant& v : test::variants_of(problem("mxfp8_dequantize " + fields)))
    text += std::string(v.name) + ":" + std::to_string(v.config[0]) + ":" + std::to_string(v.alignment) + " ";
  return text;
}

TEST(Mxfp8DequantizeProblem, RefusesWhatMxfp8CannotHaveWritten) {
  EXPECT_EQ(refusal("cols=128 rows=64 direction=col source_stride=64"), "") << "a line has 64 rows";
  EXPECT_TRUE(has(refusal("cols=64 rows=64 direction=col source_stride=63"), "source_stride"));
  EXPECT_TRUE(has(refusal("cols=33"), "tail=pad"));
  EXPECT_TRUE(has(refusal("cols=64 rows=33 direction=col"), "rows=33 is no multiple of 32"));
  EXPECT_TRUE(has(refusal("cols=64 scaling=block128"), "cols=64 is no multiple of 128"));
  EXPECT_TRUE(has(refusal("rows=128 cols=64 experts=2 source_expert_stride=8000"), "overlap"));
  EXPECT_TRUE(has(refusal("cols=64 scaling=row direction=col"), "direction=row"));
  EXPECT_TRUE(has(refusal("cols=33 scaling=row tail=pad"), "any length"));
  for (const char* scaling : {"tensor", "row", "block128"}) {
    const std::string fields = std::string("rows=128 cols=128 scaling=") + scaling;
    EXPECT_EQ(refusal(fields), "");
    EXPECT_TRUE(has(refusal(fields + " scale_layout=blocked"), "scale_layout=blocked goes with scaling=mx"));
    EXPECT_TRUE(has(refusal(fields + " block=square"), "squares"));
  }
}

TEST(Mxfp8DequantizeOperands, AreWhatMxfp8Writes) {
  for (const char* rest :
       {"", "direction=col", "direction=col out_order=cols", "block=square", "scale_layout=blocked"}) {
    const std::string made = std::string("mxfp8 rows=96 cols=416 experts=3 ") + rest,
                      back = std::string("mxfp8_dequantize rows=96 cols=416 experts=3 ") + rest;
    EXPECT_EQ(span(back, "source"), span(made, "out")) << rest;
    EXPECT_EQ(span(back, "source_scales"), span(made, "scales")) << rest;
    EXPECT_EQ(span(back, "out"), span(made, "source")) << rest;
  }
  const std::string tensor = "mxfp8_dequantize rows=256 cols=384 scaling=tensor";
  EXPECT_EQ(span(tensor, "given_scale"), 4);
  EXPECT_EQ(span(tensor, "source_scales"), 0);
}

TEST(Mxfp8DequantizeVariants, TakeTheWidestVectorOfAWholeStride) {
  EXPECT_EQ(summary("cols=4096"), "vector:16:16 element:2:1 ");
  EXPECT_EQ(summary("cols=64 experts=2 source_expert_stride=1026"), "vector:4:4 element:2:1 ");
  EXPECT_EQ(summary("cols=33 tail=pad dtype=f32"), "element:4:1 ");
}

TEST(Mxfp8DequantizeProblem, OldTextsOfMxfp8AreToldTheNewOnes) {
  EXPECT_EQ(error_of("mxfp8 op=dequantize rows=64 cols=32 direction=col"),
            "mxfp8 has no op=dequantize any more; write \"mxfp8_dequantize rows=64 cols=32 direction=col\"");
  EXPECT_EQ(error_of("mxfp8 op=quantize cols=32"), "mxfp8 has no op=quantize any more; write \"mxfp8 cols=32\"");
}

}  // namespace
}  // namespace quern
