// concat's refusals, the memory of its operands, its variants, and the geometry of its launches.
#include "concat/concat.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/text.h"
#include "concat/params.h"
#include "concat/shape.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::span;
using test::variant_summary;

std::string concat_refusal(const std::string& fields) { return test::refusal("concat " + fields); }

TEST(ConcatProblem, TakesSourcesOfAnyWidthAndStride) {
  EXPECT_EQ(concat_refusal("widths=1,0,13 dtype=c128"), "");
  EXPECT_EQ(concat_refusal("widths=8,8 strides=3,1"), "") << "rows of sources may overlap";
  EXPECT_EQ(concat_refusal("widths=8,8 strides=0,20 out_stride=16 pass=backward"), "");
  EXPECT_EQ(concat_refusal("layout=flat widths=8,8 counts=0,5 pass=backward"), "");
  EXPECT_EQ(concat_refusal("widths=8,8 rows=0"), "");
}

TEST(ConcatProblem, RefusesListsThatDoNotFitTogether) {
  EXPECT_TRUE(has(concat_refusal("widths=none"), "widths has no entry"));
  EXPECT_TRUE(has(concat_refusal("widths=1,2 strides=1"), "strides needs an entry for each of the 2 widths"));
  EXPECT_TRUE(
      has(concat_refusal("layout=flat widths=1,2 counts=1,2,3"), "counts needs an entry for each of the 2 widths"));
  EXPECT_TRUE(has(concat_refusal("widths=1,2 counts=1,2"), "counts is for layout=flat"));
}

TEST(ConcatProblem, RefusesRowsThatOverlapInAnOutput) {
  EXPECT_TRUE(has(concat_refusal("widths=8,8 out_stride=15"), "out_stride is below the sum of the widths, 16"));
  EXPECT_TRUE(has(concat_refusal("widths=8,8 strides=9,7 pass=backward"), "strides[1] is below its width"));
  EXPECT_TRUE(has(concat_refusal("layout=flat out_stride=128"), "out_stride is for layout=columns"));
}

TEST(ConcatProblem, RefusesWhatAnIndexNeedsOrForbids) {
  EXPECT_TRUE(has(concat_refusal("mode=zero"), "set index=i32 or i64"));
  EXPECT_TRUE(has(concat_refusal("source_rows=4,4"), "source_rows is for an index"));
  EXPECT_TRUE(has(concat_refusal("index=i32"), "needs source_rows, the rows of each of the 2 sources"));
  EXPECT_TRUE(has(concat_refusal("index=i32 source_rows=4"), "needs source_rows"));
  EXPECT_EQ(concat_refusal("index=i32 source_rows=4,4 pass=backward rows=4"), "");
  EXPECT_TRUE(has(concat_refusal("index=i32 source_rows=4,3 pass=backward rows=4"), "source_rows[1] is below"));
  EXPECT_EQ(concat_refusal("index=i32 source_rows=4,3 pass=backward rows=4 mode=zero"), "")
      << "the others may be nowhere";
  EXPECT_TRUE(has(concat_refusal("index=i32 source_rows=4,0 rows=1"), "source_rows[1]=0 has no row to pick"));
  EXPECT_EQ(concat_refusal("index=i32 source_rows=4,0"), "") << "there may be no rows";
  EXPECT_EQ(concat_refusal("index=i32 source_rows=4,0 rows=1 mode=zero"), "");
  EXPECT_EQ(concat_refusal("index=i64 source_rows=4,0 rows=1 mode=minus_one_is_zero"), "");
  EXPECT_EQ(concat_refusal("layout=flat index=i64 source_rows=4,0 counts=3,0"), "");
  EXPECT_TRUE(has(test::parse_error("concat index=i8"), "index"));
  EXPECT_TRUE(has(test::parse_error("concat mode=clamp"), "mode"));
}

TEST(ConcatProblem, RefusesWhatNoMemoryHolds) {
  EXPECT_TRUE(has(concat_refusal("widths=268435456"), "widths[0] is too large: below 2^28"));
  EXPECT_TRUE(has(concat_refusal("widths=200000000,200000000"), "a row of all sources"));
  EXPECT_EQ(concat_refusal("layout=flat widths=200000000,200000000 rows=2"), "");
  EXPECT_TRUE(has(concat_refusal("widths=268435455 rows=1000000"), "at most 2^46 elements"));
  EXPECT_TRUE(has(concat_refusal("layout=flat widths=8,8 counts=1,70368744177664"), "at most 2^46 elements"));
  EXPECT_TRUE(has(concat_refusal("layout=flat widths=2,2 rows=35184372088832"), "at most 2^46 elements"))
      << "all together";
}

std::int64_t concat_span(const std::string& fields, std::string_view operand, int entry) {
  const AnyProblem p = test::problem("concat " + fields);
  for (const Operand& each : p.family().operands) {
    if (each.name == operand) return entry < each.count(p.data()) ? each.layout(p.data(), entry).span_bytes() : -1;
  }
  return -1;
}

TEST(ConcatOperands, FollowFromTheLayoutTheIndexAndThePass) {
  const std::string plain = "rows=10 widths=3,5 strides=7,0 out_stride=9 ";
  EXPECT_EQ(concat_span(plain, "sources", 0), (9 * 7 + 3) * 2);
  EXPECT_EQ(concat_span(plain, "sources", 1), 50 * 2);
  EXPECT_EQ(concat_span(plain, "sources", 2), -1);
  EXPECT_EQ(concat_span(plain, "index", 0), -1);
  EXPECT_EQ(concat_span(plain, "outs", 0), -1);
  EXPECT_EQ(span("concat " + plain, "out"), (9 * 9 + 8) * 2);
  EXPECT_EQ(span("concat " + plain, "source"), 0);
  const std::string backward = plain + "pass=backward ";
  EXPECT_EQ(concat_span(backward, "outs", 0), (9 * 7 + 3) * 2);
  EXPECT_EQ(concat_span(backward, "sources", 0), -1);
  EXPECT_EQ(span("concat " + backward, "source"), (9 * 9 + 8) * 2);
  EXPECT_EQ(span("concat " + backward, "out"), 0);
  const std::string picked = "layout=flat counts=10,3 widths=3,5 index=i32 source_rows=4,6 ";
  EXPECT_EQ(concat_span(picked, "sources", 1), 6 * 5 * 2);
  EXPECT_EQ(concat_span(picked, "index", 0), 10 * 4);
  EXPECT_EQ(span("concat " + picked, "out"), (30 + 15) * 2);
  EXPECT_EQ(span("concat layout=flat rows=6 widths=3,5", "out"), 6 * 8 * 2);
  const std::string gradient = "rows=3 widths=3,5 index=i32 source_rows=4,6 pass=backward ";
  EXPECT_EQ(concat_span(gradient, "outs", 1), 6 * 5 * 2);
  EXPECT_EQ(concat_span(gradient, "index", 1), 3 * 4);
}

// Row r of the matrix goes to the row that index names; the others, and those without an index, keep what they had.
TEST(ConcatReference, TheGradientGoesWhereRowsWerePicked) {
  const std::int32_t matrix[] = {1, 2, 3, 4, 5, 6}, first[] = {2, -1}, second[] = {0, 1};
  std::int32_t of_first[] = {9, 9, 9}, of_second[] = {9, 9, 9, 9, 9, 9};
  const AnyProblem p = test::problem(
      "concat rows=2 widths=1,2 dtype=i32 index=i32 source_rows=3,3 mode=minus_one_is_zero pass=backward");
  const In index[] = {{first, sizeof(first)}, {second, sizeof(second)}};
  const Out outs[] = {{of_first, sizeof(of_first)}, {of_second, sizeof(of_second)}};
  ConcatArgs args;
  args.source = matrix;
  args.index = {index, 2};
  args.outs = {outs, 2};
  p.family().reference(p.data(), &args);
  EXPECT_EQ(std::vector<std::int32_t>(of_first, of_first + 3), std::vector<std::int32_t>({9, 9, 1}));
  EXPECT_EQ(std::vector<std::int32_t>(of_second, of_second + 6), std::vector<std::int32_t>({2, 3, 5, 6, 9, 9}));
}

TEST(ConcatVariants, TakeTheWidestVectorAndThenAnyAddress) {
  EXPECT_EQ(variant_summary("concat widths=64,8"), "vector:16:16 half:8:8 quarter:4:4 element:2:2 ");
  EXPECT_EQ(variant_summary("concat widths=64,8 dtype=u8"), "vector:8:8 half:4:4 quarter:2:2 element:1:1 ");
  EXPECT_EQ(variant_summary("concat widths=64,8 dtype=f32"), "vector:16:16 half:8:8 element:4:4 ");
  EXPECT_EQ(variant_summary("concat widths=64,12"), "vector:8:8 half:4:4 element:2:2 ");
  EXPECT_EQ(variant_summary("concat widths=64,0,6"), "ragged:4:4 element:2:2 ");
  EXPECT_EQ(variant_summary("concat widths=13,64,1,33"), "ragged:2:2 ");
  EXPECT_EQ(variant_summary("concat widths=3,5 dtype=c128"), "vector:16:16 ");
  EXPECT_EQ(variant_summary("concat widths=64,8 out_stride=76"), "vector:8:8 half:4:4 element:2:2 ");
  EXPECT_EQ(variant_summary("concat widths=64,8 strides=64,10"), "ragged:4:4 element:2:2 ");
  EXPECT_EQ(variant_summary("concat widths=13,3 rows=4"), "vector:2:2 ") << "too small for a detour";
  EXPECT_EQ(variant_summary("concat widths=1 out_stride=3"), "vector:2:2 ") << "its tile needs too much memory";
}

// Half of the widest vector on sm_100 is the widest elsewhere; no step is left out that an image has room for.
TEST(ConcatVariants, HaveAtMostFourImages) {
  const AnyProblem p = test::problem("concat widths=64,32 dtype=u8");
  const std::vector<Variant> all = test::variants_of(p, {100, "a"});
  ASSERT_EQ(all.size(), 4U);
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_EQ(all[i].config[1], 32 >> i);
  EXPECT_EQ(all[3].config[1], 1);
}

// Rows that are not picked and have no gaps are one run: its length counts, not that of a row.
TEST(ConcatVariants, OfARunAskForItsLengthOnly) {
  EXPECT_EQ(variant_summary("concat layout=flat widths=33,7 counts=800000,400000"),
            "vector:16:16 half:8:8 quarter:4:4 element:2:2 ");
  EXPECT_EQ(variant_summary("concat layout=flat widths=33,7"), "ragged:2:2 ") << "of unknown length";
  EXPECT_EQ(variant_summary("concat layout=flat widths=33,7 counts=800000,400000 strides=33,9"), "ragged:2:2 ");
  EXPECT_EQ(variant_summary("concat layout=flat widths=33,7 counts=800000,400000 index=i32 source_rows=9,9"),
            "ragged:2:2 ");
}

// ---- Geometry

Launch concat_launch(const std::string& fields, std::size_t variant = 0) {
  const AnyProblem p = test::problem("concat " + fields);
  std::array<In, 64> entries{};
  ConcatArgs args;
  args.sources = args.index = {entries.data(), static_cast<std::int64_t>(entries.size())};
  Launch launch;
  const Step& step = test::step_of(p);
  step.launch(p.data(), &args, generic_model(90), test::variants_of(p).at(variant).config, launch);
  return launch;
}

TEST(ConcatLaunch, HasATileForEachPartOfTheMatrix) {
  // 27 * 16 numbers are 108 slots of 16 bytes: 128 lanes, of which 2 groups fit 256 threads, with 4 rows each.
  const Launch dlrm = concat_launch(
      "rows=65536 dtype=f32 widths=16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,"
      "16,16,16,16,16,16,16,16");
  EXPECT_EQ(dlrm.block[0], 256U);
  EXPECT_EQ(dlrm.grid[0], 65536U / 8);
  EXPECT_EQ(dlrm.shared_bytes, 0U);
  // 111 numbers are as many slots: 16 rows in each of two groups.
  const Launch odd = concat_launch("rows=262144 widths=13,64,1,33");
  EXPECT_EQ(odd.grid[0], 262144U / 32);
  EXPECT_EQ(odd.shared_bytes, 16U + 32 * 222);
  // 3 tiles across.
  EXPECT_EQ(concat_launch("rows=65536 widths=700,1").grid[0], 65536U / 16 * 3);
  EXPECT_TRUE(concat_launch("rows=0 widths=13,64").empty);
  EXPECT_TRUE(concat_launch("rows=7 widths=0,0").empty);
  EXPECT_TRUE(concat_launch("layout=flat counts=0,7 widths=5,0").empty);
}

TEST(ConcatLaunch, ShrinksBlocksOfASmallProblem) {
  const Launch small = concat_launch("rows=128 dtype=f32 widths=216,216");
  EXPECT_EQ(small.block[0], 32U);
  EXPECT_EQ(small.grid[0], 128U * 4);
}

TEST(ConcatLaunch, ListsRunsAsTilesOfTheirOwn) {
  const Launch launch = concat_launch("layout=flat counts=100000,0,30000 widths=33,7,64 dtype=f32");
  // 825000, 0 and 480000 slots of 16 bytes; a tile has 1024.
  EXPECT_EQ(launch.grid[0], 806U + 469);
  const auto params = test::params_of<concat::ParamsOf<8, true, false>>(launch);
  EXPECT_EQ(params.first[1], 806U);
  EXPECT_EQ(params.first[2], 806U);
  EXPECT_EQ(params.first[3], 0xffffffffU);
  EXPECT_EQ(params.blocks[0].columns, 256U);
  EXPECT_EQ(params.blocks[0].rows, 3223);
  EXPECT_EQ(params.blocks[0].last, 825000U - 3222 * 256);
  EXPECT_EQ(params.blocks[2].matrix, 3300000U * 4);
}

TEST(ConcatLaunch, AsksForMoreBlocksThanThereCanBe) {
  EXPECT_EQ(concat_launch("rows=4398046511104 widths=8,8 dtype=u8").grid[0], 0xffffffffU) << "the caller refuses that";
}

// What a launch copies follows from the number of sources.
TEST(ConcatLaunch, CopiesParametersForAsManySources) {
  EXPECT_EQ(sizeof(concat::ParamsOf<8, false, false>), 8 + 8 * 20 + 24 + 16U);
  EXPECT_LE(sizeof(concat::ParamsOf<64, true, true>), kMaxParamsBytes);
}

}  // namespace
}  // namespace quern
