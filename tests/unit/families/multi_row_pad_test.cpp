// multi_row_pad's refusals, the memory of its operands, its variants, and the geometry of its launches.
#include "multi_row_pad/multi_row_pad.h"

#include <gtest/gtest.h>

#include <array>

#include "multi_row_pad/params.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::variant_summary;

std::string multi_row_pad_refusal(const std::string& fields) { return test::refusal("multi_row_pad " + fields); }

TEST(MultiRowPadProblem, TakesMatricesOfAnySizeAndType) {
  EXPECT_EQ(multi_row_pad_refusal("rows=1,43,0 cols=1,43,768 dtype=e4m3"), "");
  EXPECT_EQ(multi_row_pad_refusal("rows=5,6,7 cols=13 dtype=c128 direction=unpad align=1"), "");
  EXPECT_EQ(multi_row_pad_refusal("rows=5,6 padded_rows=5,100"), "");
  EXPECT_EQ(multi_row_pad_refusal("rows=5,6 align=32 padded_rows=5,100"), "") << "the default's value says nothing";
}

TEST(MultiRowPadProblem, RefusesListsThatDoNotFitTogether) {
  EXPECT_TRUE(has(multi_row_pad_refusal("rows=none"),
                  "rows has no entry: give the rows of at least one matrix, as in rows=100,500"));
  EXPECT_TRUE(has(multi_row_pad_refusal("rows=1,2,3 cols=4,5"), "one for each of the 3 of rows"));
  EXPECT_TRUE(has(multi_row_pad_refusal("cols=none"), "cols needs one entry"));
  EXPECT_TRUE(
      has(multi_row_pad_refusal("rows=1,2,3 padded_rows=4,5"), "padded_rows needs an entry for each of the 3 of rows"));
  EXPECT_TRUE(has(multi_row_pad_refusal("rows=5,7 padded_rows=5,6"), "padded_rows[1]=6 is below rows[1]=7"));
  EXPECT_TRUE(has(multi_row_pad_refusal("rows=5,7 padded_rows=5,9 align=16"), "give one of the two"));
  EXPECT_TRUE(has(test::parse_error("multi_row_pad align=0"), "align"));
}

TEST(MultiRowPadProblem, RefusesWhatNoMemoryHolds) {
  EXPECT_EQ(multi_row_pad_refusal("rows=1073741824 cols=65536"), "") << "2^46";
  EXPECT_TRUE(has(multi_row_pad_refusal("rows=1073741825 cols=65536"), "at most 2^46 elements"));
  EXPECT_TRUE(has(multi_row_pad_refusal("rows=1073741824,1 cols=65536"), "at most 2^46 elements")) << "all together";
  EXPECT_TRUE(has(multi_row_pad_refusal("rows=70368744177664 cols=70368744177664"), "at most 2^46 elements"));
}

std::int64_t multi_row_pad_span(const std::string& fields, int operand, int entry) {
  const AnyProblem p = test::problem("multi_row_pad " + fields);
  const Operand& each = p.family().operands[operand];
  return entry < each.count(p.data()) ? each.layout(p.data(), entry).span_bytes() : -1;
}

TEST(MultiRowPadOperands, HaveTheRowsOfTheirSide) {
  const std::string rows = "rows=100,33,0 cols=7,64,5 ";
  EXPECT_EQ(multi_row_pad_span(rows, 0, 0), 100 * 7 * 2);
  EXPECT_EQ(multi_row_pad_span(rows, 1, 0), 128 * 7 * 2);
  EXPECT_EQ(multi_row_pad_span(rows, 1, 1), 64 * 64 * 2);
  EXPECT_EQ(multi_row_pad_span(rows, 1, 2), 0);
  EXPECT_EQ(multi_row_pad_span(rows, 1, 3), -1);
  EXPECT_EQ(multi_row_pad_span(rows + "direction=unpad", 0, 0), 128 * 7 * 2);
  EXPECT_EQ(multi_row_pad_span(rows + "direction=unpad", 1, 0), 100 * 7 * 2);
  EXPECT_EQ(multi_row_pad_span(rows + "padded_rows=101,40,6", 1, 2), 6 * 5 * 2);
  EXPECT_EQ(multi_row_pad_span("rows=3,4 cols=8", 0, 1), 4 * 8 * 2) << "one width for all";
}

TEST(MultiRowPadVariants, TakeTheWidestVectorWhateverTheSizes) {
  EXPECT_EQ(variant_summary("multi_row_pad rows=43,1 cols=43,1"), "vector:16:16 word:4:4 element:2:2 ");
  EXPECT_EQ(variant_summary("multi_row_pad dtype=u8"), "vector:16:16 word:4:4 element:1:1 ");
  EXPECT_EQ(variant_summary("multi_row_pad dtype=f32"), "vector:16:16 element:4:4 ");
  EXPECT_EQ(variant_summary("multi_row_pad dtype=c128"), "element:16:16 ");
}

Launch multi_row_pad_launch(const std::string& fields) {
  const AnyProblem p = test::problem("multi_row_pad " + fields);
  std::array<In, 64> sources{};
  std::array<Out, 64> outs{};
  MultiRowPadArgs args;
  args.sources = {sources.data(), 64}, args.outs = {outs.data(), 64};
  Launch launch;
  test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p).at(0).config, launch);
  return launch;
}

// A block has 256 threads with 4 vectors of 16 bytes: 16 KiB.
TEST(MultiRowPadLaunch, HasBlocksForWhatIsWritten) {
  const Launch launch = multi_row_pad_launch("rows=4000,0,1 cols=4096 align=32");
  EXPECT_EQ(launch.block[0], 256U);
  EXPECT_EQ(launch.grid[0], 2000U + 16);
  const auto params = test::params_of<multi_row_pad::ParamsOf<8>>(launch);
  EXPECT_EQ(params.first[1], 2000U);
  EXPECT_EQ(params.first[2], 2000U);
  EXPECT_EQ(params.first[3], 0xffffffffU);
  EXPECT_EQ(params.matrices[0].copied, 4000 * 8192);
  EXPECT_EQ(params.matrices[2].copied, 8192);
  EXPECT_EQ(params.matrices[2].written, 32 * 8192);
  EXPECT_EQ(multi_row_pad_launch("rows=4000,0,1 cols=4096 direction=unpad").grid[0], 2000U + 1)
      << "padding is not read";
  EXPECT_TRUE(multi_row_pad_launch("rows=0,5 cols=4,0").empty);
  EXPECT_FALSE(multi_row_pad_launch("rows=0 padded_rows=1").empty);
}

TEST(MultiRowPadLaunch, ShrinksBlocksOfASmallProblem) {
  const Launch launch = multi_row_pad_launch("rows=100,43 cols=256");
  EXPECT_EQ(launch.block[0], 32U);
  EXPECT_EQ(launch.grid[0], 128U * 512 / 2048 + 64U * 512 / 2048);
}

TEST(MultiRowPadLaunch, AsksForMoreBlocksThanThereCanBe) {
  EXPECT_EQ(multi_row_pad_launch("rows=4398046511104 cols=16 dtype=f64").grid[0], 0xffffffffU)
      << "the caller refuses that";
}

// What a launch copies follows from the number of matrices.
TEST(MultiRowPadLaunch, CopiesParametersForAsManyMatrices) {
  EXPECT_EQ(sizeof(multi_row_pad::ParamsOf<8>), 8 * 36U);
  EXPECT_EQ(sizeof(multi_row_pad::ParamsOf<64>), 64 * 36U);
}

}  // namespace
}  // namespace quern
