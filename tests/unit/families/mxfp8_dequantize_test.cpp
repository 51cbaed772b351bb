// mxfp8_dequantize's refusals, variants, the memory of its operands, and errors for old texts of mxfp8.
#include "mxfp8_dequantize/mxfp8_dequantize.h"

#include <gtest/gtest.h>

#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::parse_error;
using test::span;
using test::variant_summary;

std::string mxfp8_dequantize_refusal(const std::string& fields) { return test::refusal("mxfp8_dequantize " + fields); }

TEST(Mxfp8DequantizeProblem, RefusesWhatMxfp8CannotHaveWritten) {
  EXPECT_EQ(mxfp8_dequantize_refusal("cols=128 rows=64 direction=col source_stride=64"), "") << "a line has 64 rows";
  EXPECT_TRUE(has(mxfp8_dequantize_refusal("cols=64 rows=64 direction=col source_stride=63"), "source_stride"));
  EXPECT_TRUE(has(mxfp8_dequantize_refusal("cols=33"), "tail=pad"));
  EXPECT_TRUE(has(mxfp8_dequantize_refusal("cols=64 rows=33 direction=col"), "rows=33 is not a multiple of 32"));
  EXPECT_TRUE(has(mxfp8_dequantize_refusal("cols=64 scaling=block128"), "cols=64 is not a multiple of 128"));
  EXPECT_TRUE(has(mxfp8_dequantize_refusal("rows=128 cols=64 experts=2 source_expert_stride=8000"), "overlap"));
  EXPECT_TRUE(has(mxfp8_dequantize_refusal("cols=64 scaling=row direction=col"), "direction=row"));
  EXPECT_TRUE(has(mxfp8_dequantize_refusal("cols=33 scaling=row tail=pad"), "any length"));
  for (const char* scaling : {"tensor", "row", "block128"}) {
    const std::string fields = std::string("rows=128 cols=128 scaling=") + scaling;
    EXPECT_EQ(mxfp8_dequantize_refusal(fields), "");
    EXPECT_TRUE(
        has(mxfp8_dequantize_refusal(fields + " scale_layout=blocked"), "scale_layout=blocked goes with scaling=mx"));
    EXPECT_TRUE(has(mxfp8_dequantize_refusal(fields + " block=square"), "squares"));
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
  EXPECT_EQ(variant_summary("mxfp8_dequantize cols=4096"), "vector:16:16 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8_dequantize cols=64 experts=2 source_expert_stride=1026"), "vector:4:4 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8_dequantize cols=33 tail=pad dtype=f32"), "element:4:1 ");
}

TEST(Mxfp8DequantizeProblem, OldTextsOfMxfp8AreToldTheNewOnes) {
  EXPECT_EQ(parse_error("mxfp8 op=dequantize rows=64 cols=32 direction=col"),
            "mxfp8 no longer has op=dequantize; write \"mxfp8_dequantize rows=64 cols=32 direction=col\"");
  EXPECT_EQ(parse_error("mxfp8 op=quantize cols=32"), "mxfp8 no longer has op=quantize; write \"mxfp8 cols=32\"");
}

}  // namespace
}  // namespace quern
