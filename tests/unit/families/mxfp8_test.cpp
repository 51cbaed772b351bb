// mxfp8's refusals, its choice of variants and the memory of its operands.
#include "mxfp8/mxfp8.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mxfp8/bias.h"
#include "mxfp8/matrix.h"
#include "plan/config.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::mxfp8_refusal;
using test::mxfp8_span;

AnyProblem parsed(const std::string& fields) {
  AnyProblem problem(Mxfp8::family());
  parse_fields(Mxfp8::family(), " " + fields, problem.data());
  return problem;
}

TEST(Mxfp8Problem, WhatIsBlockedMustBeWholeBlocksUnlessATailIsAskedFor) {
  EXPECT_EQ(mxfp8_refusal("rows=33 cols=64"), "");
  EXPECT_EQ(mxfp8_refusal("rows=64 cols=33 direction=col"), "");
  EXPECT_EQ(mxfp8_refusal("rows=open cols=64 direction=both"), "");
  EXPECT_EQ(mxfp8_refusal("rows=33 cols=31 direction=both block=square tail=pad"), "");
  EXPECT_TRUE(has(mxfp8_refusal("rows=64 cols=33"), "cols=33 is not a multiple of 32"))
      << mxfp8_refusal("rows=64 cols=33");
  EXPECT_TRUE(has(mxfp8_refusal("rows=33 cols=64 direction=col"), "rows=33 is not a multiple of 32"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=33 cols=64 direction=both"), "tail=pad"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=33 cols=64 block=square"), "rows=33"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=64 cols=33 direction=col block=square_spread"), "cols=33"));
}

TEST(Mxfp8Problem, APolicyHasItsModesAndASourceItsOutput) {
  for (const char* mode : {"floor", "ceil", "even"}) {
    EXPECT_EQ(mxfp8_refusal(std::string("mode=") + mode), "");
    EXPECT_TRUE(has(mxfp8_refusal(std::string("policy=te mode=") + mode),
                    std::string("mode=") + mode + " goes with policy=ao"));
  }
  EXPECT_EQ(mxfp8_refusal("policy=te mode=rceil"), "");
  EXPECT_TRUE(has(mxfp8_refusal("source_order=rows out_order=cols"), "out_order=rows"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 source_stride=63"), "source_stride"));
  EXPECT_EQ(mxfp8_refusal("cols=64 source_stride=64"), "");
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 experts=2 source_expert_stride=63"), "source_expert_stride"));
  EXPECT_EQ(mxfp8_refusal("cols=64 experts=2 source_stride=128 source_expert_stride=64"), "") << "a row of each";
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 groups=2 source_expert_stride=64"), "groups are of one matrix"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=1073741824"), "2^30"));
}

// Regression: overlapping experts were accepted, and several threads wrote their data concurrently.
TEST(Mxfp8Problem, ExpertsLieApartOrByTurns) {
  const std::string two = "rows=128 cols=64 experts=2 ";
  EXPECT_TRUE(has(mxfp8_refusal(two + "source_expert_stride=64"), "overlap"));
  EXPECT_TRUE(has(mxfp8_refusal(two + "source_expert_stride=8191"), "overlap"));
  EXPECT_EQ(mxfp8_refusal(two + "source_expert_stride=8192"), "");
  EXPECT_EQ(mxfp8_refusal(two + "source_stride=128 source_expert_stride=64"), "");
  EXPECT_TRUE(has(mxfp8_refusal("rows=128 cols=64 experts=3 source_stride=128 source_expert_stride=64"), "overlap"));
  EXPECT_EQ(mxfp8_refusal("cols=64 experts=2 source_expert_stride=64"), "") << "open rows are asked for at the launch";
  EXPECT_EQ(mxfp8_refusal("rows=32 cols=1024 experts=65536 source_stride=67108864 source_expert_stride=1024"), "")
      << "as many elements as 65536 dense experts have, counted 65536 times before";
}

// Regression: products that overflowed were taken for small problems.
TEST(Mxfp8Problem, WhatNoMemoryHoldsIsRefused) {
  EXPECT_EQ(mxfp8_refusal("rows=1073741824 cols=32"), "");
  for (const char* fields :
       {"rows=1048576 cols=32 experts=17592186044417", "rows=262144 cols=32 experts=70368744177664",
        "rows=128 cols=128 experts=70368744177664 direction=col",
        "rows=0 cols=65536 experts=70368744177664 direction=col",
        "rows=70368744177664 cols=65536 experts=0 scale_layout=blocked",
        "rows=1048576 cols=64 source_stride=70368744177664", "rows=70368744177664 cols=32",
        "cols=64 experts=2 source_expert_stride=70368744177664",
        "rows=1048576 cols=64 source_stride=70368744177664 source_expert_stride=70368744177664"})
    EXPECT_TRUE(has(mxfp8_refusal(fields), "too large")) << fields << ": " << mxfp8_refusal(fields);
}

std::string mxfp8_summary(const std::string& fields, const Target& target = {90, "a"}) {
  std::string all;
  for (const Variant& v : test::variants_of(parsed(fields), target))
    all += (all.empty() ? "" : " ") + std::string(v.name) + ":" + std::to_string(v.config[1]) + ":" +
           std::to_string(test::alignment_of(parsed(fields), v.config));
  return all;
}

TEST(Mxfp8Variants, FollowDirectionLineLengthAndElement) {
  EXPECT_EQ(mxfp8_summary("cols=4096"), "stream:16:16 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=4096", {100, "a"}), "stream:32:32 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=4096 dtype=f32"), "stream:16:16 element:4:1");
  EXPECT_EQ(mxfp8_summary("cols=44 tail=pad"), "stream:8:8 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=33 tail=pad"), "stream:2:1");
  EXPECT_EQ(mxfp8_summary("cols=64 source_stride=66"), "stream:4:4 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=64 experts=2 source_expert_stride=1028"), "stream:8:8 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=4096 block=square"), "tile:16:16 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=4096 direction=col"), "tile:16:16 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=4096 direction=col out_order=cols"), "tile:16:16 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=4096 direction=col rows=1100 tail=pad"), "tile:8:8 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=4096 direction=col rows=993 tail=pad"), "tile:4:4 element:2:1")
      << "fewer than four tiles a multiprocessor";
  EXPECT_EQ(mxfp8_summary("rows=20001 cols=2048 direction=col tail=pad"), "tile:4:4 element:2:1") << "narrow stacks";
  EXPECT_EQ(mxfp8_summary("rows=20001 cols=2049 direction=col tail=pad"), "tile:2:1") << "columns of any number";
  EXPECT_EQ(mxfp8_summary("cols=36 direction=col"), "tile:8:16 element:2:1") << "lines take 16, blocks of rows 8";
  EXPECT_EQ(mxfp8_summary("cols=36 direction=col out_order=cols"), "tile:8:8 element:2:1") << "nothing is transposed";
  EXPECT_EQ(mxfp8_summary("cols=4096 direction=both dtype=f32"), "tile:16:16 element:4:1");
  EXPECT_EQ(mxfp8_summary("cols=4096 source_order=rows"), "tile:2:1") << "any number of rows, which lie along memory";
  EXPECT_EQ(mxfp8_summary("cols=4096 source_order=rows rows=64 experts=100"), "tile:8:16 element:2:1")
      << "no tile is twice as wide as the matrix";
  EXPECT_EQ(mxfp8_summary("cols=4096 scale_layout=blocked"), "tile:16:16 element:2:1");
  EXPECT_EQ(mxfp8_summary("cols=36 direction=col out_order=cols scale_layout=blocked"), "tile:8:16 element:2:1")
      << "scales take 16";
}

TEST(Mxfp8Variants, SmallProblemsHaveNarrowTilesAndOneVectorAThread) {
  EXPECT_EQ(mxfp8_summary("rows=96 cols=416 experts=3 direction=col"), "tile:4:16 element:2:1");
  EXPECT_EQ(mxfp8_summary("rows=160 cols=1408 experts=5 direction=both"), "tile:8:16 element:2:1") << "enough";
  EXPECT_EQ(mxfp8_summary("rows=96 cols=416 dtype=f32 direction=col"), "tile:8:16 element:4:1")
      << "a tile has 32 columns";
  EXPECT_EQ(mxfp8_summary("rows=96 cols=416 scale_layout=blocked"), "tile:8:16 element:2:1") << "half an atom";
  EXPECT_EQ(mxfp8_summary("rows=128 cols=128 direction=both scaling=block128"), "tile:16:16 element:2:1")
      << "a tile has 128";
  EXPECT_EQ(mxfp8_summary("rows=64 cols=2048 direction=both"), "tile:4:16 element:2:1")
      << "32 tiles of 64 columns are few";
  EXPECT_EQ(mxfp8_summary("rows=64 cols=2176 direction=both"), "tile:8:16 element:2:1") << "34 are enough";
  EXPECT_EQ(mxfp8_summary("rows=32 cols=512 experts=36 scale_layout=blocked"), "tile:8:16 element:2:1")
      << "few rows a tile";
  EXPECT_EQ(mxfp8_summary("rows=128 cols=512 experts=36 scale_layout=blocked"), "tile:16:16 element:2:1");
  EXPECT_EQ(mxfp8_summary("rows=32 cols=512 experts=36 direction=both"), "tile:16:16 element:2:1") << "along rows only";
  const auto unroll = [](const std::string& fields) { return test::variants_of(parsed(fields), {})[0].config[2]; };
  EXPECT_EQ(unroll("rows=160 cols=1408 experts=5"), 1);
  EXPECT_EQ(unroll("rows=8192 cols=5120"), 2);
  EXPECT_EQ(unroll("cols=5120"), 2) << "open counts as large";
}

TEST(Mxfp8Variants, AsManyBlocksAreResidentAsWereFastest) {
  const auto resident = [](const std::string& fields, const Target& target = {}) {
    const Config config = test::variants_of(parsed(fields), target)[0].config;
    return std::pair(config[5], config[6]);
  };
  using Pair = std::pair<int, int>;  // stack, blocks
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both"), Pair(2, 3));
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both scale_layout=blocked"), Pair(2, 3));
  EXPECT_EQ(resident("rows=8192 cols=5120 direction=both"), Pair(1, 4)) << "too few tiles for stacks";
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both groups=16"), Pair(2, 4));
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both block=square"), Pair(2, 0));
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both bias_gradient=sums"), Pair(2, 4));
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both out_order=cols"), Pair(1, 4)) << "nothing is transposed";
  EXPECT_EQ(resident("rows=16001 cols=16000 direction=both tail=pad"), Pair(2, 0));
  EXPECT_EQ(resident("rows=16001 cols=16000 direction=col tail=pad"), Pair(2, 8)) << "two columns a thread";
  EXPECT_EQ(resident("rows=16001 cols=16000 direction=col tail=pad dtype=f32"), Pair(2, 3));
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=col"), Pair(2, 0));
  EXPECT_EQ(resident("rows=128 cols=384 direction=col"), Pair(1, 3)) << "two columns of 16 rows a thread";
  EXPECT_EQ(resident("rows=377 cols=8832 direction=col tail=pad"), Pair(1, 3));
  EXPECT_EQ(resident("rows=2048 cols=2048 direction=col"), Pair(1, 8)) << "two columns of 32 rows";
  EXPECT_EQ(resident("rows=2048 cols=2048 direction=col block=square"), Pair(1, 0));
  EXPECT_EQ(resident("rows=2048 cols=2048 direction=col dtype=f32"), Pair(1, 0));
  EXPECT_EQ(resident("rows=8192 cols=5120 direction=col"), Pair(1, 0)) << "more than eight tiles a multiprocessor";
  EXPECT_EQ(resident("rows=16384 cols=16384 scale_layout=blocked"), Pair(1, 3));
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=col source_order=rows"), Pair(1, 3))
      << "columns lie along memory";
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both", {100, "a"}), Pair(2, 3));
  EXPECT_EQ(resident("rows=16384 cols=16384 direction=both policy=te", {100, "a"}), Pair(2, 0));
}

TEST(Mxfp8Variants, MatricesOfAtMost32RowsHaveTheirColumnsWhole) {
  const auto first = [](const std::string& fields) {
    const Config config = test::variants_of(parsed("tail=pad " + fields), {})[0].config;
    return std::pair(config[0], config[1]);
  };
  using Pair = std::pair<int, int>;  // form, vector
  EXPECT_EQ(first("direction=col rows=3 cols=9344 experts=39"), Pair(2, 4));
  EXPECT_EQ(first("direction=col rows=8 cols=9344 experts=2"), Pair(2, 4));
  EXPECT_EQ(first("direction=col rows=16 cols=9344 experts=2 dtype=f32"), Pair(2, 8));
  EXPECT_EQ(first("direction=col rows=17 cols=9344 experts=2 dtype=f32"), Pair(2, 4)) << "128 bytes a thread";
  EXPECT_EQ(first("direction=col rows=31 cols=9344 experts=2"), Pair(2, 4));
  EXPECT_EQ(first("direction=col rows=31 cols=9344"), Pair(2, 2)) << "few columns";
  EXPECT_EQ(first("direction=col rows=32 cols=9344 experts=2"), Pair(2, 4));
  EXPECT_EQ(first("direction=col rows=3 cols=9343 experts=2"), Pair(2, 2)) << "no more divides a row";
  EXPECT_EQ(first("direction=col rows=3 cols=9344 experts=2 scale_layout=blocked"), Pair(2, 4));
  EXPECT_EQ(first("direction=col rows=33 cols=9344").first, 1);
  for (const char* other :
       {"both", "col out_order=cols", "col out_stride=64", "col scale_layout=padded", "col block=square",
        "col prologue=act activation=relu", "col bias_gradient=sums", "col groups=2", "col scaling=block128"})
    EXPECT_EQ(first(std::string("rows=3 cols=9344 direction=") + other).first, 1) << other;
  EXPECT_EQ(first("direction=col rows=open cols=9344").first, 1);
  EXPECT_EQ(first("source_order=rows rows=open cols=9").first, 2) << "the columns are of nine";
}

Launch default_launch(const std::string& fields) {
  const AnyProblem problem = parsed(fields);
  const Step& step = Mxfp8::family().steps[0];
  const DeviceModel& model = generic_model(90);
  const Config config = test::variants_of(problem, {})[0].config;
  const Mxfp8Args args;
  Launch launch;
  step.launch(problem.data(), &args, model, config, launch);
  return launch;
}

TEST(Mxfp8Launch, OfWholeColumnsHasBlocksAndSharedMemoryForTheirBytes) {
  const Launch few = default_launch("rows=3 cols=9344 experts=39 direction=col tail=pad");
  EXPECT_EQ(few.block[0], 128U);
  EXPECT_EQ(few.grid[0], 39U * 37) << "256 columns a block";
  EXPECT_EQ(few.shared_bytes, 3 * 256 + 4);
  EXPECT_EQ(default_launch("rows=16 cols=9344 experts=39 direction=col tail=pad").shared_bytes, 128 * (32 + 4) + 4)
      << "a gap after the lines of each thread";
  EXPECT_EQ(default_launch("rows=3 cols=9344 direction=col tail=pad").block[0], 32U) << "two blocks a multiprocessor";
  EXPECT_EQ(default_launch("rows=3 cols=130 experts=900 direction=col tail=pad").grid[0], 900U);
  EXPECT_EQ(default_launch("rows=3 cols=1030 experts=900 direction=col tail=pad scale_layout=blocked").grid[0],
            900U * 5)
      << "to the end of the last atom";
  EXPECT_EQ(default_launch("rows=3 cols=16 experts=1000 direction=col tail=pad").block[0], 32U) << "eight have columns";
  EXPECT_TRUE(default_launch("rows=0 cols=9344 direction=col tail=pad").empty);
}

// The rows, stack, panel and cluster of a problem's first variant.
std::string shape(const std::string& fields, const Target& target = {}) {
  const Config config = test::variants_of(parsed(fields), target)[0].config;
  const auto number = [&](int parameter) { return " " + std::to_string(config[parameter]); };
  return "rows" + number(4) + " stack" + number(5) + " panel" + number(7) + " cluster" + number(8);
}

TEST(Mxfp8Variants, LargeProblemsHaveStacksAndClusters) {
  EXPECT_EQ(shape("rows=16384 cols=16384 direction=col"), "rows 16 stack 2 panel 4 cluster 1");
  EXPECT_EQ(shape("cols=4096 direction=col"), "rows 16 stack 2 panel 4 cluster 1") << "open counts as large";
  EXPECT_EQ(shape("rows=96 cols=416 experts=3 direction=col"), "rows 16 stack 1 panel 4 cluster 1");
  EXPECT_EQ(shape("rows=1001 cols=4096 direction=col tail=pad"), "rows 16 stack 1 panel 4 cluster 1");
  EXPECT_EQ(shape("rows=1984 cols=2560 direction=col"), "rows 32 stack 1 panel 1 cluster 1") << "narrow";
  EXPECT_EQ(shape("rows=450 cols=32 experts=42 direction=col"), "rows 16 stack 1 panel 1 cluster 1")
      << "tiles of padding come last";
  EXPECT_EQ(shape("rows=8001 cols=2048 direction=col tail=pad"), "rows 32 stack 1 panel 1 cluster 1") << "narrow";
  EXPECT_EQ(shape("rows=36645 cols=896 direction=col tail=pad"), "rows 32 stack 2 panel 1 cluster 1");
  EXPECT_EQ(shape("rows=16384 cols=16384 direction=both"), "rows 16 stack 2 panel 0 cluster 8");
  EXPECT_EQ(shape("rows=16384 cols=16384 direction=both", {80, ""}), "rows 16 stack 1 panel 0 cluster 1");
  EXPECT_EQ(shape("rows=16384 cols=16384 direction=both scale_layout=blocked"), "rows 16 stack 2 panel 0 cluster 1");
  EXPECT_EQ(shape("rows=16384 cols=16384 direction=both block=square"), "rows 16 stack 2 panel 0 cluster 1");
  EXPECT_EQ(shape("cols=512 direction=both"), "rows 16 stack 2 panel 0 cluster 1") << "four tiles a row";
  EXPECT_EQ(shape("rows=131072 cols=1152 direction=both"), "rows 16 stack 2 panel 0 cluster 1") << "9 tiles";
  EXPECT_EQ(shape("rows=131072 cols=1408 direction=both"), "rows 16 stack 2 panel 0 cluster 1") << "11 tiles";
  EXPECT_EQ(shape("rows=128 cols=7168 experts=256 direction=col"), "rows 16 stack 1 panel 4 cluster 1")
      << "a tile high";
  EXPECT_EQ(shape("cols=33 direction=both tail=pad"), "rows 32 stack 2 panel 0 cluster 1");
  EXPECT_EQ(shape("rows=16384 cols=16384 direction=both prologue=act"), "rows 16 stack 1 panel 0 cluster 1")
      << "code of one tile";
}

TEST(Mxfp8Operands, HaveTheSizesOfTheirLayouts) {
  const std::string row = "rows=96 cols=416 experts=3";
  EXPECT_EQ(mxfp8_span(row, "source"), 3 * 96 * 416 * 2);
  EXPECT_EQ(mxfp8_span(row, "out"), 3 * 96 * 416);
  EXPECT_EQ(mxfp8_span(row, "scales"), 3 * 96 * 13);
  EXPECT_EQ(mxfp8_span(row, "out_col"), 0) << "of direction both";
  EXPECT_EQ(mxfp8_span(row + " direction=col", "scales"), 3 * 3 * 416);
  EXPECT_EQ(mxfp8_span(row + " direction=both", "scales"), 3 * 96 * 13);
  EXPECT_EQ(mxfp8_span(row + " direction=both", "scales_col"), 3 * 3 * 416);
  EXPECT_EQ(mxfp8_span(row + " block=square direction=both", "scales"), 3 * 3 * 13);
  EXPECT_EQ(mxfp8_span(row + " block=square direction=both", "scales_col"), 3 * 3 * 13);
  EXPECT_EQ(mxfp8_span(row + " block=square_spread", "scales"), 3 * 96 * 13);
  EXPECT_EQ(mxfp8_span(row + " scale_layout=blocked", "scales"), 3 * 128 * 16);
  EXPECT_EQ(mxfp8_span(row + " scale_layout=blocked direction=col", "scales"), 3 * 512 * 4);
  EXPECT_EQ(mxfp8_span("rows=993 cols=512 direction=col tail=pad", "scales"), 32 * 512);
  EXPECT_EQ(mxfp8_span("rows=96 cols=416 source_stride=424", "source"), (95 * 424 + 416) * 2);
  EXPECT_EQ(mxfp8_span(row + " source_expert_stride=50000", "source"), (2 * 50000 + 96 * 416) * 2);
  EXPECT_EQ(mxfp8_span(row + " source_stride=1248 source_expert_stride=416", "source"), 3 * 96 * 416 * 2)
      << "a row of each";
}

Tolerance tolerance(const std::string& fields, const std::string& name) {
  const Table<Operand> operands = Mxfp8::family().operands;
  int at = 0;
  while (operands[at].name != name) ++at;
  return Mxfp8::family().tolerance(parsed(fields).data(), at, 0);
}

// Regression: a GPU and the host compute fp32 scales from numbers that differ by a few ulps, but they were compared bit
// for bit.
TEST(Mxfp8Tolerance, IsOfBitsWhereNoActivationOfFp32MakesTheScale) {
  const std::string made = "rows=64 cols=128 bias_gradient=sums dtype=f32 prologue=dact activation=silu scaling=";
  for (const std::string fields :
       {"cols=64", "cols=128 scaling=block128 mode=exact", "cols=64 prologue=act activation=gelu",
        "cols=64 dtype=f32 prologue=act activation=relu scaling=tensor"}) {
    for (const char* operand : {"out", "scales", "bias_gradient"})
      EXPECT_TRUE(tolerance(fields, operand).bitwise) << fields << " " << operand;
  }
  EXPECT_TRUE(tolerance(made + "mx", "out").bitwise);
  EXPECT_TRUE(tolerance(made + "block128 mode=rceil", "scales").bitwise) << "a power of two";
  EXPECT_EQ(tolerance(made + "tensor", "out").ulps, 1);
  EXPECT_EQ(tolerance(made + "block128 mode=exact", "scales").ulps, 512);
  EXPECT_EQ(tolerance(made + "block128 mode=exact", "out_col").ulps, 1);
  EXPECT_GT(tolerance(made + "mx", "bias_gradient").absolute, 0);
}

TEST(Mxfp8Operands, GroupsHaveRoomForWhatTheyMayCut) {
  const std::string three = "rows=256 cols=416 groups=3 ";
  EXPECT_EQ(mxfp8_span("rows=256 cols=416", "offsets") + mxfp8_span("rows=256 cols=416", "status"), 0);
  EXPECT_EQ(mxfp8_span(three, "offsets"), 3 * 4);
  EXPECT_EQ(mxfp8_span(three + "offset=i64", "offsets"), 3 * 8);
  EXPECT_EQ(mxfp8_span(three, "status"), 4);
  EXPECT_EQ(mxfp8_span(three, "out"), 256 * 416);
  EXPECT_EQ(mxfp8_span(three, "scales"), 256 * 13);
  EXPECT_EQ(mxfp8_span(three + "scale_layout=blocked", "scales"), (256 + 3 * 128) * 16);
  EXPECT_EQ(mxfp8_span(three + "direction=col", "scales"), 8 * 416);
  EXPECT_EQ(mxfp8_span(three + "direction=col tail=pad", "scales"), (8 + 3) * 416);
  EXPECT_EQ(mxfp8_span(three + "direction=col scale_layout=blocked", "scales"), 512 * (8 + 3 * 4));
  EXPECT_EQ(mxfp8_span(three + "block=square tail=pad", "scales"), (8 + 3) * 13);
}

TEST(Mxfp8Problem, ProloguesHaveActivationsAndWholeHalves) {
  for (const char* prologue : {"act", "gated", "dact", "dgated"}) {
    const std::string made = std::string("cols=64 prologue=") + prologue;
    EXPECT_EQ(mxfp8_refusal(made), "");
    EXPECT_EQ(mxfp8_refusal(made + " activation=silu direction=both scale_layout=blocked groups=4"), "");
    EXPECT_TRUE(has(mxfp8_refusal(made + " source_order=rows direction=col"), "source_order=cols"));
  }
  EXPECT_TRUE(has(mxfp8_refusal("activation=silu"), "for a prologue: act, gated, dact or dgated"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=33 tail=pad prologue=dgated"), "cols=33 is odd"));
  EXPECT_EQ(mxfp8_refusal("cols=33 tail=pad prologue=gated"), "");
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 prologue=gated source_stride=127"), "source_stride"));
  EXPECT_EQ(mxfp8_refusal("cols=64 prologue=gated source_stride=128"), "");
  EXPECT_EQ(mxfp8_refusal("cols=64 prologue=dgated source_stride=32"), "");
  EXPECT_TRUE(has(mxfp8_refusal("cols=536870912 prologue=gated"), "2^30"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=1073741824 prologue=dgated"), "2^30"))
      << "slots are counted in the quantized matrix";
}

TEST(Mxfp8Operands, OfProloguesAreWhatTheyRead) {
  const std::string size = "rows=96 cols=416 experts=3";
  EXPECT_EQ(mxfp8_span(size, "input"), 0);
  EXPECT_EQ(mxfp8_span(size + " prologue=act", "source"), 3 * 96 * 416 * 2);
  EXPECT_EQ(mxfp8_span(size + " prologue=act", "input"), 0);
  EXPECT_EQ(mxfp8_span(size + " prologue=gated", "source"), 3 * 96 * 832 * 2);
  EXPECT_EQ(mxfp8_span(size + " prologue=gated", "out"), 3 * 96 * 416);
  EXPECT_EQ(mxfp8_span(size + " prologue=dact dtype=f32", "input"), 3 * 96 * 416 * 4);
  EXPECT_EQ(mxfp8_span(size + " prologue=dgated", "source"), 3 * 96 * 208 * 2);
  EXPECT_EQ(mxfp8_span(size + " prologue=dgated", "input"), 3 * 96 * 416 * 2);
}

TEST(Mxfp8Problem, SumsAreOfWholeColumns) {
  EXPECT_EQ(mxfp8_refusal("cols=64 bias_gradient=sums"), "");
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 bias_gradient=sums source_order=rows direction=col"), "source_order=cols"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 bias_gradient=sums groups=2"), "groups=0"));
}

TEST(Mxfp8Operands, OfSumsHaveTilesAndChunksOfThem) {
  EXPECT_EQ(mxfp8_span("rows=96 cols=416 experts=3", "workspace"), 0);
  EXPECT_EQ(mxfp8_span("rows=96 cols=416 experts=3 bias_gradient=sums", "bias_gradient"), 3 * 416 * 4);
  EXPECT_EQ(mxfp8_span("rows=96 cols=416 experts=3 bias_gradient=sums", "workspace"), 3 * (416 + 416 + 13 * 2) * 4);
  EXPECT_EQ(mxfp8_span("rows=4097 cols=33 tail=pad bias_gradient=sums", "workspace"), (33 * 33 + 2 * 33 + 2 * 3) * 4);
}

// The order is one of many; a sum with a small error is required for every order.
TEST(Mxfp8Sums, AreNearTheSumInDouble) {
  for (const std::int64_t rows : {0, 1, 15, 17, 33, 127, 128, 4096, 4097, 20000}) {
    const auto number = [](std::int64_t row) { return std::sin(static_cast<float>(row) * 1.7F) + 0.5F; };
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += number(i);
    EXPECT_NEAR(mxfp8::column_sum(rows, number), sum, 1e-6 * static_cast<double>(rows)) << rows;
  }
  EXPECT_TRUE(std::isnan(mxfp8::column_sum(40, [](std::int64_t row) { return row == 39 ? NAN : 1.0F; })));
}

TEST(Mxfp8Problem, AScalingHasItsModesAndDirections) {
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 mode=exact"), "scaling=block128 or scaling=row"));
  EXPECT_EQ(mxfp8_refusal("rows=33 cols=31 scaling=tensor direction=both source_order=rows tail=pad"), "");
  EXPECT_EQ(mxfp8_refusal("rows=64 cols=31 scaling=tensor groups=2 direction=col"), "");
  EXPECT_TRUE(has(mxfp8_refusal("cols=31 scaling=tensor"), "tail=pad"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=33 scaling=row tail=pad"), "any length"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 scaling=tensor mode=exact"), "given_scale"));
  EXPECT_EQ(mxfp8_refusal("cols=33 scaling=row mode=exact groups=3"), "");
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 rows=64 scaling=row direction=both"), "direction=row"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 scaling=row source_order=rows"), "source_order=cols"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 scaling=row bias_gradient=sums"), "bias_gradient"));
  EXPECT_EQ(mxfp8_refusal("rows=128 cols=256 scaling=block128 direction=both mode=exact"), "");
  EXPECT_TRUE(has(mxfp8_refusal("cols=64 scaling=block128"), "cols=64 is not a multiple of 128"));
  EXPECT_EQ(mxfp8_refusal("rows=33 cols=64 scaling=block128 tail=pad direction=both"), "");
  EXPECT_TRUE(has(mxfp8_refusal("rows=128 cols=128 scaling=block128 groups=2 direction=col"), "direction=row"));
  EXPECT_TRUE(has(mxfp8_refusal("cols=128 scaling=block128 source_order=rows"), "source_order=cols"));
  for (const char* scaling : {"tensor", "row", "block128"}) {
    const std::string fields = std::string("rows=128 cols=128 scaling=") + scaling;
    EXPECT_EQ(mxfp8_refusal(fields), "");
    EXPECT_TRUE(has(mxfp8_refusal(fields + " policy=te"), "policy=te goes with scaling=mx"));
    EXPECT_TRUE(has(mxfp8_refusal(fields + " scale_layout=blocked"), "scale_layout=blocked goes with scaling=mx"));
    EXPECT_TRUE(has(mxfp8_refusal(fields + " block=square"), "squares"));
  }
}

TEST(Mxfp8Operands, OfFp32ScalesHaveOneForAllForARowOrFor128) {
  const std::string size = "rows=256 cols=384 experts=3 ";
  EXPECT_EQ(mxfp8_span(size, "given_scale"), 0);
  EXPECT_EQ(mxfp8_span(size + "scaling=tensor direction=both", "given_scale"), 4);
  EXPECT_EQ(mxfp8_span(size + "scaling=tensor direction=both", "scales"), 0);
  EXPECT_EQ(mxfp8_span(size + "scaling=tensor direction=both", "scales_col"), 0);
  EXPECT_EQ(mxfp8_span(size + "scaling=row", "scales"), 3 * 256 * 4);
  EXPECT_EQ(mxfp8_span(size + "scaling=block128", "scales"), 3 * 256 * 3 * 4);
  EXPECT_EQ(mxfp8_span(size + "scaling=block128 direction=col", "scales"), 3 * 2 * 384 * 4);
  EXPECT_EQ(mxfp8_span(size + "scaling=block128 direction=both", "scales_col"), 3 * 2 * 384 * 4);
  EXPECT_EQ(mxfp8_span("rows=129 cols=385 scaling=block128 direction=both tail=pad", "scales"), 129 * 4 * 4);
  EXPECT_EQ(mxfp8_span("rows=129 cols=385 scaling=block128 direction=both tail=pad", "scales_col"), 2 * 385 * 4);
}

// Regression: the default of fp32 with blocks of 128 was not in the space, so it could not be tuned or changed.
TEST(Mxfp8Variants, AreInTheSpace) {
  for (const char* scaling : {"mx", "tensor", "row", "block128"}) {
    for (const char* rest : {"", " direction=col", " direction=both", " direction=both bias_gradient=sums",
                             " direction=both prologue=dact activation=silu", " direction=both tail=pad",
                             " bias_gradient=sums", " groups=4"}) {
      for (const char* type : {"bf16", "f32"}) {
        for (const int cols : {384, 416}) {
          const std::string fields =
              std::string("rows=4096 scaling=") + scaling + " dtype=" + type + " cols=" + std::to_string(cols) + rest;
          if (!mxfp8_refusal(fields).empty()) continue;
          const AnyProblem problem = parsed(fields);
          for (const Target& target : {Target{80, ""}, Target{90, "a"}, Target{100, "a"}, Target{120, "a"}}) {
            for (const Variant& v : test::variants_of(problem, target))
              EXPECT_EQ(violated(test::step_of(problem), v.config, problem.data(), target), "")
                  << fields << " " << v.name;
          }
        }
      }
    }
  }
}

// Lengths at which a row is processed by a warp, or by a block of 64 to 512 threads.
TEST(Mxfp8Variants, LongRowsHaveMoreThreads) {
  const auto threads = [](const std::string& fields) {
    const Config config = test::variants_of(parsed("scaling=row " + fields))[0].config;
    return std::to_string(config[2]) + " x " + std::to_string(config[3]);
  };
  EXPECT_EQ(threads("cols=256"), "1 x 256") << "a warp each: 32 vectors of 8";
  EXPECT_EQ(threads("cols=1024"), "4 x 256");
  EXPECT_EQ(threads("cols=1032"), "4 x 64");
  EXPECT_EQ(threads("cols=7168"), "4 x 256");
  EXPECT_EQ(threads("cols=16384"), "4 x 512");
  EXPECT_EQ(threads("cols=65536"), "4 x 512") << "some of it is read twice";
  EXPECT_EQ(threads("cols=4096 dtype=f32"), "4 x 256");
}

TEST(Mxfp8Problem, GroupsAreRowsOfOneMatrix) {
  EXPECT_EQ(mxfp8_refusal("rows=256 cols=64 groups=3"), "");
  EXPECT_TRUE(has(mxfp8_refusal("rows=256 cols=64 groups=3 experts=2"), "experts=1"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=256 cols=64 groups=3 direction=col source_order=rows"), "source_order=cols"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=256 cols=64 groups=2147483648"), "2^31"));
}

TEST(Mxfp8Operands, AreWhatMustMove) {
  const std::int64_t elements = 3 * 96 * 416;
  const auto moved = [](const std::string& fields) { return Mxfp8::family().bytes(parsed(fields).data()); };
  EXPECT_EQ(moved("rows=96 cols=416 experts=3"), 3 * elements + elements / 32);
  EXPECT_EQ(moved("rows=96 cols=416 experts=3 direction=both dtype=f32"), 6 * elements + elements / 16);
  EXPECT_EQ(moved("rows=96 cols=416 experts=3 direction=col block=square"), 3 * elements + elements / 1024);
}

// The data of comparisons with kernels must contain blocks of every kind.
TEST(Mxfp8Data, HasBlocksOfEverySizeAndSomeThatAreNotFinite) {
  Mxfp8 problem;
  problem.rows = 1024;
  problem.cols = 1024;
  problem.dtype = f32;
  problem.block = Mxfp8Block::square;
  std::vector<float> source(1024 * 1024);
  mxfp8::generate_source(problem, 7, source.data());
  std::vector<unsigned char> scales(1024), out(source.size());
  Mxfp8Args args;
  args.source = source.data();
  args.out = out.data();
  args.scales = scales.data();
  mxfp8::quantize_reference(problem, args);
  const auto count = [&](auto test) { return std::count_if(scales.begin(), scales.end(), test); };
  EXPECT_GT(count([](int s) { return s == 255; }), 20);
  EXPECT_GT(count([](int s) { return s == 0; }), 5);
  EXPECT_GT(count([](int s) { return s > 0 && s < 255; }), 700);
}

}  // namespace
}  // namespace quern
