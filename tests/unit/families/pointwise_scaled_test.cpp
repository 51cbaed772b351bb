// Programs whose outputs are quantized: what is refused, the scales' shapes and names, and where a launch has them.
#include <gtest/gtest.h>

#include <cstring>

#include "base/text.h"
#include "pointwise/params.h"
#include "pointwise/reductions.h"
#include "pointwise/scaled.h"
#include "unit/families/support.h"

namespace quern {
namespace {

namespace scaled = pointwise::scaled;
using test::address;
using test::as;
using test::BarePlan;
using test::has;
using test::problem;
using test::refusal;

std::string scaled_text(const std::string& fields, const std::string& program = "y: e4m3; y = x * 2") {
  return cat("pointwise ", fields, " expr=\"", program, "\"");
}

TEST(PointwiseScaled, RulesBetweenTheFieldsAreSaid) {
  EXPECT_EQ(refusal(scaled_text("scaling=mx")), "");
  EXPECT_EQ(refusal(scaled_text("scaling=row mode=exact")), "");
  EXPECT_EQ(refusal(scaled_text("scaling=block128 mode=exact")), "");
  EXPECT_EQ(refusal(scaled_text("scaling=mx policy=te scale_layout=blocked")), "");
  EXPECT_TRUE(has(refusal(scaled_text("mode=floor")), "are for a scaling: say scaling=mx, row or block128"));
  EXPECT_TRUE(has(refusal(scaled_text("scale_layout=blocked")), "are for a scaling"));
  EXPECT_TRUE(has(refusal("pointwise scaling=mx"), "scaling is for the outputs of expr"));
  EXPECT_TRUE(has(refusal("pointwise scaling=mx"), "say expr=\"out: e4m3; out = x\""));
  EXPECT_TRUE(has(refusal(scaled_text("scaling=mx", "y = x")), "scaling is for outputs of e4m3 or e5m2"));
  EXPECT_TRUE(has(refusal(scaled_text("scaling=mx", "y = x")), "as in \"out: e4m3; out = x\""));
  EXPECT_EQ(refusal(scaled_text("scaling=mx", "out: e4m3; out = x")), "");
  EXPECT_TRUE(has(refusal(scaled_text("scaling=mx", "s: e4m3 column; s = sum(x)")), "and expr has none"));
  EXPECT_TRUE(has(refusal(scaled_text("scaling=mx mode=exact")), "mode=exact is for fp32 scales"));
  EXPECT_TRUE(has(refusal(scaled_text("scaling=row policy=te")), "policy=te goes with scaling=mx and mode=rceil"));
  EXPECT_TRUE(has(refusal(scaled_text("scaling=mx policy=te mode=floor")), "policy=te goes with"));
  EXPECT_TRUE(has(refusal(scaled_text("scaling=block128 scale_layout=blocked")), "fp32 scales are plain"));
}

TEST(PointwiseScaled, EachOutputOf8BitsHasScales) {
  const AnyProblem all = problem(
      scaled_text("rows=130 width=100 scaling=mx", "y: e4m3; z: e5m2; u = x; y = x * 2; z = x * 3; s = sum(x)"));
  const auto& p = as<Pointwise>(all);
  EXPECT_EQ(scaled::scales_count(&p), 2);
  EXPECT_EQ(scaled::scales_name(&p, 0), "y_scales");
  EXPECT_EQ(scaled::scales_name(&p, 1), "z_scales");
  EXPECT_EQ(scaled::scales_layout(p, 0).dtype, e8m0);
  EXPECT_EQ(scaled::scales_layout(p, 0).elements(), 130 * 4) << "a row has four blocks, the last of four elements";
  EXPECT_EQ(scaled::scales_layout(p, 2).dtype, DType::none);
  const auto elements = [](const char* fields) {
    const AnyProblem one = problem(scaled_text(fields));
    return scaled::scales_layout(as<Pointwise>(one), 0).elements();
  };
  EXPECT_EQ(elements("rows=130 width=130 scaling=mx scale_layout=blocked"), 256 * 8);
  EXPECT_EQ(elements("rows=130 width=130 scaling=block128"), 130 * 2);
  EXPECT_EQ(elements("rows=130 width=130 scaling=row"), 130);
  EXPECT_EQ(elements("rows=130 width=0 scaling=row"), 130);
}

TEST(PointwiseScaled, TheirBytesCount) {
  const auto bytes = [](const char* fields) {
    const AnyProblem p = problem(scaled_text(fields));
    return p.family().bytes(p.data());
  };
  EXPECT_EQ(bytes("rows=64 width=256") + 64 * 8, bytes("rows=64 width=256 scaling=mx"));
  EXPECT_EQ(bytes("rows=64 width=256") + 64 * 4, bytes("rows=64 width=256 scaling=row"));
}

// A row that one scale is of is needed whole, and rows and columns of blocked scales' padding are somebody's.
TEST(PointwiseScaled, ThereAreThreadsForWholeRowsAndForPadding) {
  const auto team = [](const char* fields) {
    const AnyProblem p = problem(scaled_text(fields));
    const auto t = pointwise::reductions::team_of(as<Pointwise>(p));
    return cat(t.lanes, " x ", t.warps, " x ", t.segments, " / ", t.groups);
  };
  EXPECT_EQ(team("width=4096 scaling=mx"), "32 x 1 x 1 / 16");
  EXPECT_EQ(team("width=4096 scaling=row"), "32 x 4 x 4 / 1");
  EXPECT_EQ(team("width=40 scaling=mx"), "8 x 1 x 1 / 1");
  EXPECT_EQ(team("width=40 scaling=mx scale_layout=blocked"), "16 x 1 x 1 / 1");
  EXPECT_EQ(team("width=260 scaling=mx scale_layout=blocked"), "32 x 1 x 1 / 2");
}

// Of a program with one input and one output, of 100 rows.
PreparedLaunch launched(const std::string& text, In x, Out y, Out scales) {
  const BarePlan plan((problem(text)));
  PointwiseArgs args;
  args.inputs = {&x, 1};
  args.outputs = {&y, 1};
  args.scales = {&scales, 1};
  args.rows = 100;
  PreparedLaunch prepared;
  prepare_launch(plan, &args, prepared);
  return prepared;
}

TEST(PointwiseScaled, ALaunchHasTheScalesAfterTheOutputs) {
  const In x(address(0x10000));
  const Out y(address(0x20000)), scales(address(0x30000));
  const PreparedLaunch prepared =
      launched(scaled_text("width=64 scaling=mx scale_layout=blocked", "y: e4m3; y = x * 0.5"), x, y, scales);
  pointwise::ReductionParams<3, 1> params;
  std::memcpy(&params, prepared.launch.params, sizeof(params));
  EXPECT_EQ(params.operands[0], x.data);
  EXPECT_EQ(params.operands[1], y.data);
  EXPECT_EQ(params.operands[2], scales.data);
  EXPECT_EQ(params.numbers[0], 0.5F);
  EXPECT_EQ(params.shape.rows, 100);
  EXPECT_EQ(params.shape.rows_with_scales, 128);
  EXPECT_EQ(prepared.launch.grid[0], 16U) << "of 8 rows each, the padding's too";
}

TEST(PointwiseScaled, ScalesMayOverlapNothing) {
  const auto said = [](std::uintptr_t y, std::uintptr_t scales) {
    try {
      launched(scaled_text("width=64 scaling=row"), In(address(0x10000)), Out(address(y)), Out(address(scales)));
      return std::string();
    } catch (const Error& error) {
      return error.sentence;
    }
  };
  EXPECT_EQ(said(0x20000, 0x30000), "");
  EXPECT_EQ(said(0x20000, 0x20000 + 6400), "") << "next to it";
  EXPECT_TRUE(has(said(0x20000, 0x20000 + 6396), "y_scales overlaps y; scales may overlap nothing"));
  EXPECT_TRUE(has(said(0x20000, 0x10000), "y_scales overlaps x"));
  EXPECT_TRUE(has(said(0x20000, 0x10000 - 396), "y_scales overlaps x"));
}

TEST(PointwiseScaled, ScalesOfTwoOutputsMayNotOverlap) {
  const BarePlan plan(problem(scaled_text("width=64 scaling=row", "y: e4m3; z: e4m3; y = x * 2; z = x * 3")));
  const In x(address(0x1000000));
  const Out outputs[] = {address(0x2000000), address(0x3000000)};
  PointwiseArgs args;
  args.inputs = {&x, 1};
  args.outputs = {outputs, 2};
  args.rows = 100;
  const auto said = [&](std::uintptr_t second) {
    const Out scales[] = {address(0x4000000), address(second)};
    args.scales = {scales, 2};
    PreparedLaunch prepared;
    try {
      prepare_launch(plan, &args, prepared);
      return std::string();
    } catch (const Error& error) {
      return error.sentence;
    }
  };
  EXPECT_EQ(said(0x4000000 + 400), "");
  EXPECT_TRUE(has(said(0x4000000 + 396), "z_scales overlaps y_scales"));
}

// A row that several blocks read for its scale stays.
TEST(PointwiseScaled, AnOutputTakesTheMemoryOfAnInputUnlessSeveralBlocksReadIt) {
  const auto said = [](const char* fields, const char* more) {
    const BarePlan plan(problem(scaled_text(fields, cat("x: e4m3; let t = x * 2; x = t", more))));
    const In x(address(0x1000000));
    const Out outputs[] = {address(0x1000000), address(0x2000000)}, scales(address(0x3000000));
    PointwiseArgs args;
    args.inputs = {&x, 1};
    args.outputs = {outputs, *more == 0 ? 1 : 2};
    args.scales = {&scales, 1};
    args.workspace = Out(address(0x4000000));
    args.rows = 10;
    PreparedLaunch prepared;
    try {
      prepare_launch(plan, &args, prepared);
      return std::string();
    } catch (const Error& error) {
      return error.sentence;
    }
  };
  EXPECT_EQ(said("width=70016 scaling=row", ""), "");
  EXPECT_EQ(said("width=70016 scaling=mx", "; b: f32; b = sum_rows(t)"), "");
  EXPECT_TRUE(has(said("width=70016 scaling=row", "; b: f32; b = sum_rows(t)"), "this row is too long to be replaced"));
}

TEST(PointwiseScaled, AreExactWhereTheFunctionsAre) {
  const auto tolerance = [](const std::string& fields, const std::string& program, int operand_from_last) {
    const AnyProblem p = problem(scaled_text("rows=10 width=64 " + fields, program));
    return p.family().tolerance(p.data(), p.family().operands.count - operand_from_last, 0).ulps;
  };
  EXPECT_EQ(tolerance("scaling=mx", "y: e4m3; y = x / sqrt(mean(x * x))", 1), 0);
  EXPECT_EQ(tolerance("scaling=mx", "y: e4m3; y = x / sqrt(mean(x * x))", 2), 0);
  EXPECT_EQ(tolerance("scaling=mx", "y: e4m3; y = exp(x)", 1), 1) << "another power of two";
  EXPECT_EQ(tolerance("scaling=mx", "y: e4m3; y = exp(x)", 2), 8);
  EXPECT_EQ(tolerance("scaling=row mode=exact", "y: e4m3; y = exp(x)", 2), 1);
}

// An activation that an output of 8 bits would have less exactly is an fp32 one where a scale is made of it.
TEST(PointwiseScaled, NumbersAreMadeInFp32) {
  const auto in_fp32 = [](const char* fields) {
    const AnyProblem p = problem(scaled_text(fields, "y: e4m3; y = gelu(x)"));
    return pointwise::program::inexact_of(as<Pointwise>(p), 0).in_fp32;
  };
  EXPECT_EQ(in_fp32("rows=1"), 0);
  EXPECT_EQ(in_fp32("rows=1 scaling=mx"), 1);
}

}  // namespace
}  // namespace quern
