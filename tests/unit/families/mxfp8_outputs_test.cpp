// The memory of mxfp8's outputs: strides of their own, and padded scales.
#include "mxfp8/mxfp8.h"

#include <gtest/gtest.h>

#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::mxfp8_refusal;
using test::mxfp8_span;
using test::variant_summary;

TEST(Mxfp8OutStrides, AreOfTheLinesOfEachOutput) {
  const std::string both = "rows=96 cols=160 experts=2 direction=both ";
  EXPECT_EQ(mxfp8_span(both + "out_stride=200", "out"), 191 * 200 + 160);
  EXPECT_EQ(mxfp8_span(both + "out_stride=200", "out_col"), 2 * 96 * 160) << "has its own";
  EXPECT_EQ(mxfp8_span(both + "out_col_stride=100", "out_col"), 319 * 100 + 96) << "a line is a column";
  EXPECT_EQ(mxfp8_span(both + "out_col_stride=170 out_order=cols", "out_col"), 191 * 170 + 160);
  EXPECT_EQ(mxfp8_span("rows=96 cols=160 direction=col out_stride=100", "out"), 159 * 100 + 96);
  EXPECT_EQ(mxfp8_span("rows=96 cols=160 direction=col out_stride=100", "scales"), 3 * 160) << "scales have no gaps";
}

TEST(Mxfp8OutStrides, AreNotBelowALine) {
  EXPECT_EQ(mxfp8_refusal("rows=96 cols=160 out_stride=160"), "");
  EXPECT_TRUE(
      has(mxfp8_refusal("rows=96 cols=160 out_stride=159"), "out_stride is below the length of a line of out, 160"));
  EXPECT_EQ(mxfp8_refusal("rows=96 cols=160 direction=col out_stride=96"), "");
  EXPECT_TRUE(has(mxfp8_refusal("rows=96 cols=160 direction=col out_stride=95"), "a line of out, 96"));
  EXPECT_EQ(mxfp8_refusal("cols=160 direction=col out_stride=95"), "") << "open rows are asked for at the launch";
  EXPECT_TRUE(has(mxfp8_refusal("rows=96 cols=160 direction=both out_col_stride=95"), "out_col_stride is below"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=96 cols=160 out_col_stride=200"), "out_col_stride is for direction=both"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=1024 cols=160 out_stride=70368744177664"), "out_stride is too large"));
}

// Elements that are not transposed are written as many at a time as a vector of source has.
TEST(Mxfp8OutStrides, NarrowTheVectorWhereElementsAreWrittenFromIt) {
  EXPECT_EQ(variant_summary("mxfp8 cols=4096 out_stride=4104"), "stream:16:16 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 cols=4096 out_stride=4100"), "stream:8:8 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 cols=4096 out_stride=4097"), "stream:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 rows=16384 cols=4096 direction=col out_stride=16400"), "tile:16:16 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 rows=16384 cols=4096 direction=col out_stride=16385"), "tile:16:16 element:2:1 ")
      << "lines that begin anywhere";
  EXPECT_EQ(variant_summary("mxfp8 cols=4096 direction=col out_order=cols out_stride=4098"), "tile:4:4 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 rows=16384 cols=4096 source_order=rows out_stride=4097"), "tile:16:16 element:2:1 ");
}

// TransformerEngine has [round_up(rows, 128), round_up(cols / 32, 4)] scales of rows and [round_up(rows / 32, 4),
// round_up(cols, 128)] of columns, of which the last ones are padding.
TEST(Mxfp8PaddedScales, HaveThePitchesOfTransformerEngine) {
  const std::string padded = "rows=96 cols=160 experts=2 scale_layout=padded ";
  EXPECT_EQ(mxfp8_span(padded, "scales"), 128 * 8 + 95 * 8 + 5);
  EXPECT_EQ(mxfp8_span(padded + "direction=col", "scales"), 4 * 256 + 2 * 256 + 160);
  EXPECT_EQ(mxfp8_span(padded + "direction=both", "scales_col"), 4 * 256 + 2 * 256 + 160);
  EXPECT_EQ(mxfp8_span("rows=128 cols=128 scale_layout=padded", "scales"), 128 * 4) << "nothing to pad";
  EXPECT_EQ(mxfp8_span("rows=96 cols=160 scale_layout=padded groups=3", "scales"), 512 * 8) << "each group has its own";
  EXPECT_EQ(mxfp8_span("rows=96 cols=160 scale_layout=padded groups=3 direction=col", "scales"), 16 * 256);
  const std::string back = "mxfp8_dequantize rows=96 cols=160 experts=2 scale_layout=padded ";
  EXPECT_EQ(test::span(back, "source_scales"), 128 * 8 + 95 * 8 + 5);
  EXPECT_EQ(test::span(back + "direction=col", "source_scales"), 4 * 256 + 2 * 256 + 160);
}

TEST(Mxfp8PaddedScales, AreOfLines) {
  EXPECT_TRUE(has(mxfp8_refusal("scale_layout=padded block=square"), "write block=square_spread"));
  EXPECT_EQ(mxfp8_refusal("scale_layout=padded block=square_spread"), "");
  EXPECT_TRUE(has(mxfp8_refusal("scale_layout=padded scaling=row"), "scale_layout=padded goes with scaling=mx"));
  EXPECT_TRUE(has(test::refusal("mxfp8_dequantize scale_layout=padded block=square"), "write block=square_spread"));
  EXPECT_TRUE(has(test::refusal("mxfp8_dequantize scale_layout=padded scaling=row"), "goes with scaling=mx"));
  EXPECT_TRUE(has(test::parse_error("moe_permute scale_layout=padded"), "scale_layout"));
}

// The fastest form stays.
TEST(Mxfp8PaddedScales, AreWrittenByStreams) {
  EXPECT_EQ(variant_summary("mxfp8 cols=4096 scale_layout=padded"), "stream:16:16 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 cols=4096 scale_layout=padded groups=4"), "tile:16:16 element:2:1 ");
}

}  // namespace
}  // namespace quern
