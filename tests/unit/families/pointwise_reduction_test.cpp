// Programs with reductions: who has a row, what is refused, the variants, the parameters and the workspace of a launch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/text.h"
#include "pointwise/params.h"
#include "pointwise/reductions.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using pointwise::reductions::Team;
using test::address;
using test::as;
using test::BarePlan;
using test::has;
using test::problem;
using test::refusal;
using test::summary;

constexpr const char* kNorm = "w: row; y = x * rsqrt(mean(x * x)) * w";
constexpr const char* kNormGradient =
    "w: row; let g = dy * w; dx = g - x * mean(g * x); dw: f32; dw = sum_rows(dy * x)";

std::string with_text(int width, const std::string& text, const std::string& rest = "") {
  return cat("pointwise width=", width, " ", rest, rest.empty() ? "" : " ", "expr=\"", text, "\"");
}

// "lanes x warps x segments / groups", "again" where a row is read again, and "kept" where values of it are kept.
std::string team(int width, const char* text, const std::string& rest = "") {
  const Team t = pointwise::reductions::team_of(as<Pointwise>(problem(with_text(width, text, rest))));
  return cat(t.lanes, " x ", t.warps, " x ", t.segments, " / ", t.groups, t.fits ? "" : " again",
             t.keeps ? " kept" : "");
}

TEST(PointwiseReduction, AWarpHasARowThatFitsItAndThenABlock) {
  const char* const softmax = "y = exp(x - max(x)) / sum(exp(x - max(x)))";
  EXPECT_EQ(team(1, softmax), "1 x 1 x 1 / 1 kept");
  EXPECT_EQ(team(8, softmax), "1 x 1 x 1 / 1 kept");
  EXPECT_EQ(team(9, softmax), "2 x 1 x 1 / 1 kept");
  EXPECT_EQ(team(256, softmax), "32 x 1 x 1 / 1 kept");
  EXPECT_EQ(team(257, softmax), "32 x 1 x 2 / 1 kept");
  EXPECT_EQ(team(1024, softmax), "32 x 1 x 4 / 1 kept");
  EXPECT_EQ(team(1025, softmax), "32 x 2 x 4 / 1 kept");
  EXPECT_EQ(team(4096, softmax), "32 x 4 x 4 / 1 kept");
  EXPECT_EQ(team(4096, "y = x - max(x)"), "32 x 4 x 4 / 1");
  EXPECT_EQ(team(4096, "let e = exp(x); y = e / sum(e) * x"), "32 x 8 x 2 / 1 kept") << "beside the input";
  EXPECT_EQ(team(28672, "y = x - max(x)"), "32 x 14 x 8 / 1") << "two blocks on a multiprocessor";
  EXPECT_EQ(team(7168, softmax), "32 x 7 x 4 / 1 kept");
  EXPECT_EQ(team(28672, softmax), "32 x 14 x 8 / 1");
  EXPECT_EQ(team(65536, softmax), "32 x 32 x 8 / 1");
  EXPECT_EQ(team(65537, softmax), "32 x 16 x 2 / 1 again");
  EXPECT_EQ(team(32769, softmax, "dtype=f32"), "32 x 16 x 2 / 1 again") << "twice the registers";
}

TEST(PointwiseReduction, SumsOverRowsTakeRegistersAndBlocksSideBySide) {
  EXPECT_EQ(team(4096, "b = sum_rows(x)"), "32 x 1 x 1 / 16") << "no row is needed whole";
  EXPECT_EQ(team(7168, kNormGradient), "32 x 14 x 2 / 1");
  EXPECT_EQ(team(28672, kNormGradient), "32 x 16 x 2 / 4 again");
  EXPECT_EQ(team(0, "b = sum_rows(x)"), "1 x 1 x 1 / 1");
}

TEST(PointwiseReduction, ARowOfManyInputsIsReadAgain) {
  const char* const many = "let s = a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p; y = s - max(s)";
  EXPECT_EQ(team(200, many), "32 x 1 x 1 / 1 again");
  EXPECT_EQ(team(1024, many), "32 x 4 x 1 / 1 again");
  EXPECT_EQ(team(8192, many), "32 x 16 x 1 / 1 again");
}

// Whose blocks side by side would have nothing to do.
TEST(PointwiseReduction, ColumnsAloneHaveNoBlocksSideBySide) {
  EXPECT_EQ(team(4096, "s: column; c: column; s = c * 2"), "32 x 1 x 1 / 1");
  EXPECT_EQ(team(4096, "s: column; c: column; s = c * 2; y = x"), "32 x 1 x 1 / 16");
}

TEST(PointwiseReduction, VariantsAreVectorsAndElements) {
  EXPECT_EQ(summary(with_text(4096, kNorm)), "rows:16:16 ragged:16:1");
  EXPECT_EQ(summary(with_text(4096, "w: f32 row; y = x * sum(x) * w")), "rows:16:16 ragged:16:1");
  EXPECT_EQ(summary(with_text(4092, kNorm)), "rows:8:8 ragged:16:1");
  EXPECT_EQ(summary(with_text(4094, kNorm)), "rows:4:4 ragged:16:1");
  EXPECT_EQ(summary(with_text(4095, kNorm)), "ragged:16:1");
  EXPECT_EQ(summary(with_text(4096, "x: e4m3; s = sum(x)")), "rows:8:8 ragged:16:1") << "eight elements of a byte";
  EXPECT_EQ(summary(with_text(4096, "s: column; c: column; s = c * 2")), "rows:8:8 ragged:16:1");
}

TEST(PointwiseReduction, MoreThanAWarpCanPassOnIsRefused) {
  std::string text = "s=sum(x)";
  for (int i = 2; i <= 32; ++i) text += cat("+sum(x*const ", i, ")");
  EXPECT_EQ(refusal(with_text(64, text)), "");
  EXPECT_EQ(refusal(with_text(64, text + "+max(x)")), "expr has 33 reductions along rows; at most 32 are possible");
}

TEST(PointwiseReduction, WidthHasALimit) {
  EXPECT_TRUE(has(refusal("pointwise rows=1 width=536870913 expr=\"s = sum(x)\""),
                  "width is too large: with reductions in expr, or a scaling, a row may have 2^29 elements"));
  EXPECT_EQ(refusal("pointwise rows=1 width=536870912 expr=\"s = sum(x)\""), "");
}

// ---- Launches

struct LaunchedReduction {
  std::string refusal;
  Launch launch;
};

LaunchedReduction launched(const std::string& text, const std::vector<In>& inputs, const std::vector<Out>& outputs,
                           std::int64_t rows, Out workspace = {}) {
  const BarePlan plan(problem(text));
  PointwiseArgs args;
  args.inputs = {inputs.data(), static_cast<std::int64_t>(inputs.size())};
  args.outputs = {outputs.data(), static_cast<std::int64_t>(outputs.size())};
  args.workspace = workspace;
  args.rows = rows;
  PreparedLaunch prepared;
  LaunchedReduction result;
  try {
    prepare_launch(plan, &args, prepared);
    result.launch = prepared.launch;
  } catch (const Error& error) {
    result.refusal = error.sentence;
  }
  return result;
}

TEST(PointwiseReduction, PartsOfTheParametersAreWhereTheKernelHasThem) {
  const LaunchedReduction made = launched(with_text(4096, "let g = dy * 0.5; dx = g * mean(x); dw = sum_rows(dy * x)"),
                                          {address(0x10000000), address(0x20000000)},
                                          {address(0x30000000), address(0x40000000)}, 1000, address(0x50000000));
  ASSERT_EQ(made.refusal, "");
  pointwise::ReductionParams<4, 1> params;
  std::memcpy(&params, made.launch.params, sizeof(params));
  EXPECT_EQ(params.shape.rows, 1000);
  EXPECT_EQ(params.shape.width, 4096);
  EXPECT_EQ(params.shape.segments, 16);
  EXPECT_EQ(params.shape.rows_of_block, 4) << "256 blocks, or fewer, one below the other";
  EXPECT_EQ(params.shape.chunks, 250U);
  EXPECT_EQ(params.operands[0], address(0x10000000));
  EXPECT_EQ(params.operands[1], address(0x20000000));
  EXPECT_EQ(params.operands[2], address(0x30000000));
  EXPECT_EQ(params.operands[3], address(0x40000000));
  EXPECT_EQ(params.numbers[0], 0.5F);
  EXPECT_EQ(made.launch.grid[0], 250U);
  EXPECT_EQ(made.launch.block[0], 256U);
}

TEST(PointwiseReduction, ARowHasATeamOfLanesOrABlock) {
  const LaunchedReduction lanes =
      launched(with_text(64, "y = x - max(x)"), {address(0x10000)}, {address(0x90000)}, 100);
  EXPECT_EQ(lanes.launch.block[0], 128U);
  EXPECT_EQ(lanes.launch.grid[0], 7U) << "16 rows each";
  const LaunchedReduction block =
      launched(with_text(4096, "y = x - max(x)"), {address(0x10000)}, {address(0x9000000)}, 100);
  EXPECT_EQ(block.launch.block[0], 128U);
  EXPECT_EQ(block.launch.grid[0], 100U);
  const LaunchedReduction sums =
      launched(with_text(4096, "b = sum_rows(x)"), {address(0x10000)}, {address(0x9000000)}, 100, address(0x50000));
  EXPECT_EQ(sums.launch.block[0], 256U);
  EXPECT_EQ(sums.launch.grid[0], 13U * 16U) << "8 rows and 256 columns each";
}

// Zeros of nothing are written; nothing else is.
TEST(PointwiseReduction, NothingIsLaunchedWithoutRowsUnlessThereAreSums) {
  EXPECT_TRUE(launched(with_text(64, "y = x - max(x)"), {nullptr}, {nullptr}, 0).launch.empty);
  EXPECT_TRUE(launched(with_text(0, "y = x - max(x)"), {nullptr}, {nullptr}, 10).launch.empty);
  EXPECT_FALSE(launched(with_text(0, "s = sum(x)"), {nullptr}, {address(0x90000)}, 10).launch.empty);
  EXPECT_FALSE(
      launched(with_text(64, "b = sum_rows(x)"), {nullptr}, {address(0x90000)}, 0, address(0x50000)).launch.empty);
}

TEST(PointwiseReduction, AnOutputTakesTheMemoryOfAnInputUnlessSeveralBlocksReadIt) {
  const In x(address(0x100000));
  EXPECT_EQ(launched(with_text(4096, "y = x - max(x)"), {x}, {address(0x100000)}, 10).refusal, "");
  EXPECT_TRUE(has(launched(with_text(4096, "s = max(x)"), {x}, {address(0x100000)}, 10).refusal, "s overlaps x"));
  const char* const sums = "y = x - max(x); b = sum_rows(x)";
  const auto said = [&](int width) {
    return launched(with_text(width, sums), {x}, {address(0x100000), address(0x90000000)}, 10, address(0x50000))
        .refusal;
  };
  EXPECT_EQ(said(4096), "");
  EXPECT_TRUE(has(said(70000), "y overlaps x; "));
  EXPECT_TRUE(has(said(70000), "this row is too long to be replaced")) << said(70000);
}

TEST(PointwiseReduction, AWorkspaceForSomeRowsServesFewer) {
  std::int64_t before = 0;
  for (int rows = 1; rows < 9000; rows += 7) {
    const AnyProblem p = problem(cat("pointwise rows=", rows, " width=40 expr=\"b = sum_rows(x); a = sum_all(x)\""));
    const std::int64_t words = pointwise::reductions::workspace_layout(as<Pointwise>(p)).elements();
    EXPECT_GE(words, before) << rows;
    before = words;
  }
  EXPECT_EQ(pointwise::reductions::workspace_layout(as<Pointwise>(problem(with_text(64, "y = x - max(x)")))).dtype,
            DType::none);
}

TEST(PointwiseReduction, IsExactWhereItsFunctionsAre) {
  const auto tolerance = [](const std::string& program, int output) {
    const AnyProblem p = problem(cat("pointwise rows=10 width=64 expr=\"", program, "\""));
    return p.family().tolerance(p.data(), p.family().operands.count - 2, output);
  };
  EXPECT_EQ(tolerance("s: f32; s = sum(x * x); m = mean(max(x, 0))", 0).ulps, 0);
  EXPECT_EQ(tolerance("b: f32; b = sum_rows(x * x)", 0).ulps, 0);
  EXPECT_EQ(tolerance("b: f32; b = sum_rows(exp(x))", 0).ulps, 8);
  EXPECT_EQ(tolerance("b: f32; b = sum_rows(exp(x))", 0).absolute, 0x1p-20 * (1 + 8 * std::sqrt(10)));
  EXPECT_EQ(tolerance("a: f32; a = sum_all(exp(x))", 0).absolute, 0x1p-20 * (1 + 8 * std::sqrt(640)));
}

}  // namespace
}  // namespace quern
