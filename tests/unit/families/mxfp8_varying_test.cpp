// mxfp8's groups whose columns, or rows and columns, differ: refusals, memory, variants and geometry.
#include "mxfp8/varying.h"

#include <gtest/gtest.h>

#include <array>

#include "mxfp8/params.h"
#include "mxfp8/quantize.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::has;
using test::mxfp8_refusal;
using test::mxfp8_span;
using test::variant_summary;

TEST(Mxfp8Varying, IsOfGroupsWithoutGaps) {
  const std::string both = "rows=64 cols=64 groups=2 varying=both ";
  EXPECT_EQ(mxfp8_refusal(both), "");
  EXPECT_EQ(mxfp8_refusal(both + "capacity=1024 scale_layout=padded direction=both out_order=cols"), "");
  EXPECT_TRUE(has(mxfp8_refusal("varying=cols"), "varying=cols is for groups"));
  EXPECT_TRUE(has(mxfp8_refusal(both + "scaling=tensor"), "varying=both goes with scaling=mx"));
  EXPECT_TRUE(has(mxfp8_refusal(both + "prologue=act activation=relu"), "prologue=none"));
  EXPECT_TRUE(has(mxfp8_refusal(both + "source_stride=128"), "source_stride goes with varying=rows"));
  EXPECT_TRUE(has(mxfp8_refusal(both + "out_stride=128"), "out_stride and out_col_stride go with varying=rows"));
  EXPECT_TRUE(has(mxfp8_refusal(both + "source_order=rows"), "source_order=cols"));
  EXPECT_TRUE(has(mxfp8_refusal(both + "experts=2"), "experts=1"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=64 cols=64 groups=2 varying=cols capacity=9"), "capacity is for varying=both"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=64 capacity=9"), "capacity is for varying=both"));
  EXPECT_TRUE(has(mxfp8_refusal("rows=33 cols=64 groups=2 varying=cols"), "rows=33 is not a multiple of 32"));
  EXPECT_TRUE(
      has(mxfp8_refusal("rows=64 cols=33 groups=2 varying=cols direction=col"), "cols=33 is not a multiple of 32"));
  EXPECT_EQ(mxfp8_refusal("rows=33 cols=33 groups=2 varying=cols tail=pad"), "");
}

TEST(Mxfp8Varying, HasMemoryForAnyShapes) {
  const std::string cols = "rows=64 cols=256 groups=3 varying=cols ", both = "rows=64 cols=256 groups=3 varying=both ";
  EXPECT_EQ(mxfp8_span(cols, "source"), 64 * 256 * 2);
  EXPECT_EQ(mxfp8_span(cols, "out"), 64 * 256);
  EXPECT_EQ(mxfp8_span(cols, "offsets"), 0) << "all groups have all rows";
  EXPECT_EQ(mxfp8_span(cols, "col_offsets"), 3 * 4);
  EXPECT_EQ(mxfp8_span(both, "offsets"), 3 * 4);
  EXPECT_EQ(mxfp8_span(both, "status"), 4);
  EXPECT_EQ(mxfp8_span(cols, "scales"), 64 * 256 / 32);
  EXPECT_EQ(mxfp8_span(cols + "direction=both", "scales_col"), 64 * 256 / 32);
  EXPECT_EQ(mxfp8_span(cols + "block=square", "scales"), 2 * 8);
  EXPECT_EQ(mxfp8_span(cols + "scale_layout=blocked", "scales"), (2 + 3) * 512) << "each group may have a partial atom";
  EXPECT_EQ(mxfp8_span(cols + "scale_layout=padded", "scales"), (2 + 3) * 512);
  EXPECT_EQ(mxfp8_span(cols + "tail=pad", "scales"), 64 * (8 + 3));
  EXPECT_EQ(mxfp8_span(both + "capacity=4096", "source"), 4096 * 2);
  EXPECT_EQ(mxfp8_span(both + "capacity=4096", "out"), 4096);
  EXPECT_EQ(mxfp8_span(both + "capacity=4096", "scales"), 128);
  EXPECT_EQ(mxfp8_span(both + "capacity=4096 tail=pad", "scales"), 128 + 64 + 8 + 3);
  EXPECT_EQ(mxfp8_span(both + "capacity=4096 scale_layout=blocked", "scales"), (1 + 1 + 2 + 3) * 512);
}

// No group has more tiles than room: every pair of cuts of 2 x 2 groups is counted.
TEST(Mxfp8Varying, RoomIsNeverTooSmall) {
  Mxfp8 p;
  p.rows = 300, p.cols = 290, p.groups = 2, p.tail = Mxfp8Tail::pad;
  const auto tiles = [](std::int64_t n, std::int64_t each) { return (n + each - 1) / each; };
  for (const auto& [rows, cols] : {std::pair{1, 32}, {32, 1}, {32, 32}, {128, 128}, {256, 64}}) {
    for (std::int64_t r = 0; r <= p.rows; r += 3) {
      for (std::int64_t c = 0; c <= p.cols; ++c) {
        p.varying = Mxfp8Varying::both;
        p.capacity = r * c + (p.rows - r) * (p.cols - c);
        if (p.capacity == 0) continue;
        EXPECT_GE(mxfp8::most_tiles(p, rows, cols),
                  tiles(r, rows) * tiles(c, cols) + tiles(p.rows - r, rows) * tiles(p.cols - c, cols));
        p.varying = Mxfp8Varying::cols;
        p.capacity = 0;
        EXPECT_GE(mxfp8::most_tiles(p, rows, cols), tiles(p.rows, rows) * (tiles(c, cols) + tiles(p.cols - c, cols)));
      }
    }
  }
}

TEST(Mxfp8Varying, WholeBlocksKeepWideAccesses) {
  EXPECT_EQ(variant_summary("mxfp8 rows=4096 cols=4096 groups=8 varying=both"), "tile:16:16 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 rows=4096 cols=4096 groups=8 varying=cols direction=col"),
            "tile:16:16 element:2:1 ");
  EXPECT_EQ(variant_summary("mxfp8 rows=4096 cols=4096 groups=8 varying=both tail=pad"), "tile:2:1 ")
      << "columns of groups may be odd";
}

TEST(Mxfp8Varying, LaunchesBlocksForAnyShapes) {
  const auto grid = [](const std::string& fields) {
    const AnyProblem p = test::problem("mxfp8 " + fields);
    const Mxfp8Args args;
    Launch launch;
    test::step_of(p).launch(p.data(), &args, generic_model(90), test::variants_of(p).at(0).config, launch);
    return launch.grid[0];
  };
  EXPECT_EQ(grid("rows=4096 cols=4096 groups=8 varying=cols"), 32U * (32 + 8)) << "tiles of 128 x 128";
  EXPECT_EQ(grid("rows=4096 cols=4096 groups=8 varying=both capacity=8388608"), 512U + 32 + 32 + 8);
  EXPECT_EQ(grid("rows=128 cols=512 groups=2 varying=cols scale_layout=blocked"), (4U + 2) * 2)
      << "tiles of 64 columns of a small problem, two for each atom";
}

// Those of the groups that a benchmark gets, not of the room that they have.
TEST(Mxfp8Varying, BytesAreOfTheGroupsOfABenchmark) {
  const AnyProblem p = test::problem("mxfp8 rows=640 cols=640 groups=4 varying=both");
  std::int64_t elements = 0;
  for (const mxfp8::GroupMatrix& group : mxfp8::bench_matrices(*static_cast<const Mxfp8*>(p.data())))
    elements += group.problem.rows * group.problem.cols;
  EXPECT_GT(elements, 0);
  EXPECT_LT(elements, 640 * 640);
  EXPECT_EQ(p.family().bytes(p.data()), elements * 3 + elements / 32);
}

}  // namespace
}  // namespace quern
