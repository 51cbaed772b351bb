// row_pad's refusals, variants, the memory of its operands, and errors for old texts of mxfp8.
#include "row_pad/row_pad.h"

#include <gtest/gtest.h>

#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::parse_error;
using test::span;
using test::variant_summary;

std::string row_pad_refusal(const std::string& fields) { return test::refusal("row_pad " + fields); }

TEST(RowPadProblem, TakesRowsOfAnyTypeAndWidth) {
  EXPECT_EQ(row_pad_refusal("cols=43 groups=2 dtype=e4m3"), "");
  EXPECT_EQ(row_pad_refusal("cols=1 groups=2 dtype=f64 align=16 direction=unpad"), "");
  EXPECT_EQ(row_pad_refusal("cols=0 rows=0"), "");
}

TEST(RowPadProblem, RefusesWhatNoMemoryOrTypeHolds) {
  EXPECT_TRUE(has(row_pad_refusal("groups=0"), "give 1 or more"));
  EXPECT_TRUE(has(row_pad_refusal("groups=2147483648"), "2^31"));
  EXPECT_TRUE(has(row_pad_refusal("rows=64 cols=1 groups=4 align=1073741824"), "offset=i64"));
  EXPECT_EQ(row_pad_refusal("rows=64 cols=1 groups=4 align=1073741824 offset=i64"), "");
  EXPECT_TRUE(has(row_pad_refusal("rows=70368744177664 cols=70368744177664 offset=i64"), "too large"));
  EXPECT_TRUE(has(row_pad_refusal("groups=2147483647 align=1073741824 cols=70368744177664 offset=i64"), "too large"));
}

TEST(RowPadOperands, HaveRoomForAllPadding) {
  const std::string rows = "rows=157 cols=48 groups=5 align=16 ";
  EXPECT_EQ(span("row_pad " + rows, "source"), 157 * 48 * 2);
  EXPECT_EQ(span("row_pad " + rows, "out"), 240 * 48 * 2);
  EXPECT_EQ(span("row_pad " + rows, "starts"), 5 * 4);
  EXPECT_EQ(span("row_pad " + rows + "offset=i64", "ends"), 5 * 8);
  EXPECT_EQ(span("row_pad " + rows + "direction=unpad", "source"), 240 * 48 * 2);
  EXPECT_EQ(span("row_pad " + rows + "direction=unpad", "out"), 157 * 48 * 2);
  EXPECT_EQ(span("row_pad " + rows + "direction=unpad", "starts"), 0);
}

TEST(RowPadVariants, TakeTheWidestVectorAndThenAnyAddress) {
  EXPECT_EQ(variant_summary("row_pad cols=64"), "vector:16:16 element:2:2 ");
  EXPECT_EQ(variant_summary("row_pad cols=33"), "element:2:2 ");
  EXPECT_EQ(variant_summary("row_pad cols=6 dtype=f32"), "vector:8:8 element:4:4 ");
}

TEST(RowPadProblem, OldTextsOfMxfp8AreToldTheNewOnes) {
  EXPECT_EQ(parse_error("mxfp8 rows=64 op=pad cols=32 groups=2"),
            "mxfp8 no longer has op=pad; write \"row_pad direction=pad rows=64 cols=32 groups=2\"");
  EXPECT_TRUE(has(parse_error("mxfp8 op=unpad align=16 groups=2"), "\"row_pad direction=unpad align=16 groups=2\""));
}

}  // namespace
}  // namespace quern
