// pointwise's choice of variants, its constants and its reference.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "base/text.h"
#include "pointwise/operands.h"
#include "testbench/operands.h"
#include "unit/families/support.h"

namespace quern {
namespace {

using test::problem;
using test::step_of;
using test::summary;
using test::variants_of;

TEST(PointwiseVariants, FollowWidthStridesAndBroadcasts) {
  const std::pair<const char*, const char*> rows[] = {
      {"pointwise width=4096", "rows:16:16 ragged:16:1"},
      {"pointwise width=4096 dtype=f32", "rows:16:16 ragged:16:1"},
      {"pointwise width=4096 bias_spread=none", "flat:16:16 ragged:16:1"},
      {"pointwise width=4097 bias_spread=none", "flat:16:16 ragged:16:1"},
      {"pointwise width=4097 bias_spread=scalar", "flat:16:16 ragged:16:1"},
      {"pointwise width=4097", "flat:16:16 ragged:16:1"},
      {"pointwise width=4097 bias_spread=column", "flat:16:16 ragged:16:1"},
      {"pointwise width=4097 bias_spread=full", "ragged:16:1"},
      {"pointwise width=4096 bias_spread=full", "rows:16:16 ragged:16:1"},
      {"pointwise width=4096 x_stride=4097", "ragged:16:1"},
      {"pointwise width=4096 x_stride=4104", "rows:16:16 ragged:16:1"},
      {"pointwise width=4096 y_stride=4097", "rows:16:16 ragged:16:1"},
      {"pointwise width=4096 y_stride=4097 op=add_mul_act", "ragged:16:1"},
      {"pointwise width=4096 bias_dtype=f32", "rows:16:32 ragged:16:1"},
      {"pointwise width=4096 out_dtype=f32", "rows:16:16 ragged:16:1"},
      {"pointwise width=4 dtype=f32", "rows:16:16 ragged:16:1"},
      {"pointwise width=4", "flat:16:16 ragged:16:1"},
      {"pointwise width=4 out_stride=8", "ragged:16:1"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(summary(text), expected) << text;
}

// "form:vector:unroll" of the first choice.
std::string first_pointwise_config(const std::string& text) {
  const Config config = variants_of(problem("pointwise " + text)).front().config;
  return std::to_string(config[0]) + ":" + std::to_string(config[1]) + ":" + std::to_string(config[2]);
}

TEST(PointwiseVariants, LargeProblemsWhoseActivationTakesInstructionsHaveMoreSlotsAThread) {
  EXPECT_EQ(first_pointwise_config("rows=65536 width=2048 activation=silu"), "0:16:2");
  EXPECT_EQ(first_pointwise_config("rows=65536 width=2048 activation=silu bias_spread=none"), "1:16:2");
  EXPECT_EQ(first_pointwise_config("rows=65536 width=2048 activation=gelu"), "1:16:4");
  EXPECT_EQ(first_pointwise_config("rows=65536 width=2048 activation=gelu dtype=f32"), "0:16:2");
  EXPECT_EQ(first_pointwise_config("rows=65536 width=2048 activation=relu"), "0:16:1");
  EXPECT_EQ(first_pointwise_config("rows=65536 width=2048 activation=silu op=add_mul_act"), "0:16:1");
  EXPECT_EQ(first_pointwise_config("rows=1000 width=2048 activation=silu"), "0:16:1");
}

TEST(PointwiseVariants, RowsOfHalfASlotHaveNarrowSlotsForTwoOperandsAndWhereTheyAreFew) {
  EXPECT_EQ(first_pointwise_config("rows=12000 width=1036 op=add_mul_act"), "0:8:2");
  EXPECT_EQ(first_pointwise_config("rows=1000 width=1036 op=add_mul_act"), "0:8:1");
  EXPECT_EQ(first_pointwise_config("rows=1000 width=1036"), "0:8:1");
  EXPECT_EQ(first_pointwise_config("rows=12000 width=1036"), "1:16:1") << "of relu a slot a thread";
  EXPECT_EQ(first_pointwise_config("rows=12000 width=1036 activation=silu"), "1:16:4");
  EXPECT_EQ(first_pointwise_config("rows=1000 width=1034"), "1:16:1") << "8 bytes do not divide a row";
  EXPECT_EQ(first_pointwise_config("rows=1000 width=1034 dtype=f32"), "1:16:1")
      << "two elements are too few for a slot";
}

TEST(PointwiseVariants, ThirtyTwoBytesAreForBlackwellOnly) {
  EXPECT_EQ(summary("pointwise width=4096", {100, "a"}), "rows:32:32 ragged:16:1");
  EXPECT_EQ(summary("pointwise width=43 x_spread=column", {100, "a"}), "flat:16:16 ragged:16:1")
      << "elements of broadcast columns take registers";
  EXPECT_EQ(summary("pointwise width=4104", {100, "a"}), "rows:16:16 ragged:16:1");
  EXPECT_EQ(summary("pointwise width=4096", {120, "a"}), "rows:16:16 ragged:16:1");
}

std::map<std::string, std::string> constants(const std::string& text) {
  const AnyProblem p = problem(text);
  Spec spec;
  step_of(p).specialize(p.data(), {90, "a"}, variants_of(p).front().config, spec);
  std::map<std::string, std::string> values;
  for (const Constant& constant : spec.constants()) {
    EXPECT_TRUE(values.emplace(constant.name, constant.value).second) << constant.name << " is there twice";
  }
  return values;
}

TEST(PointwiseSpec, HoldsWhatDecidesTheImage) {
  const auto c = constants(
      "pointwise width=4096 op=add_mul_act activation=gelu_tanh dtype=bf16 y_dtype=f32 bias_dtype=f16 x_spread=row "
      "bias_spread=column rounding=torch");
  EXPECT_EQ(c.at("flat") + c.at("ragged"), "falsefalse");
  EXPECT_EQ(c.at("elements"), "4");
  EXPECT_EQ(c.at("X"), "common::Bf16");
  EXPECT_EQ(c.at("Y"), "float");
  EXPECT_EQ(c.at("Bias"), "common::Fp16");
  EXPECT_EQ(c.at("Output"), "common::Bf16");
  EXPECT_EQ(c.at("has_y"), "true");
  EXPECT_EQ(c.at("x_spread"), "pointwise::Spread::row");
  EXPECT_EQ(c.at("y_spread"), "pointwise::Spread::full");
  EXPECT_EQ(c.at("bias_spread"), "pointwise::Spread::column");
  EXPECT_EQ(c.at("activation"), "common::Activation::gelu_tanh");
  EXPECT_EQ(c.at("torch"), "true");
  EXPECT_EQ(c.at("Sum"), "float") << "bf16 and f32 give f32";
  EXPECT_EQ(c.at("Biased"), "float");
}

TEST(PointwiseSpec, PromotesAsPyTorchDoes) {
  EXPECT_EQ(constants("pointwise dtype=bf16 rounding=torch").at("Biased"), "common::Bf16");
  EXPECT_EQ(constants("pointwise dtype=bf16 bias_dtype=f16 rounding=torch").at("Biased"), "float");
  EXPECT_EQ(constants("pointwise dtype=bf16 bias_dtype=f16 bias_spread=none rounding=torch").at("Biased"),
            "common::Bf16");
  EXPECT_EQ(constants("pointwise dtype=f16 y_dtype=f16 op=add_mul_act rounding=torch").at("Sum"), "common::Fp16");
}

TEST(PointwiseSpec, WithoutYItsSpreadIsNone) {
  EXPECT_EQ(constants("pointwise y_spread=row").at("y_spread"), "pointwise::Spread::none");
  EXPECT_EQ(constants("pointwise").at("has_y"), "false");
}

// Runs the reference on a problem of rows x width, in f32 unless the problem sets another type.
template <class Out = float>
std::vector<Out> run(const Pointwise& p, PointwiseArgs args) {
  std::vector<Out> out(static_cast<std::size_t>(p.rows * p.width), Out{});
  args.out = out.data();
  Pointwise::family().reference(&p, &args);
  return out;
}
using Floats = std::vector<float>;

const float kX[] = {1, -2, 3, -4, 5, -6};
const float kY[] = {10, 20, 30, 40, 50, 60};
const float kBias[] = {1, 2, 3, 4, 5, 6};

PointwiseArgs args() {
  PointwiseArgs args;
  args.x = kX;
  args.y = kY;
  args.bias = kBias;
  return args;
}

TEST(PointwiseReference, AddsABiasAndActivates) {
  EXPECT_EQ(run({.rows = 2, .width = 3, .dtype = f32}, args()), Floats({2, 0, 6, 0, 7, 0}));
  EXPECT_EQ(run({.rows = 2, .width = 3, .activation = Activation::identity, .dtype = f32}, args()),
            Floats({2, 0, 6, -3, 7, -3}));
}

TEST(PointwiseReference, SpreadsEachOperandAsItSays) {
  Pointwise p{.rows = 2, .width = 3, .activation = Activation::identity, .dtype = f32};
  const std::pair<Spread, Floats> rows[] = {{Spread::full, {2, 0, 6, 0, 10, 0}},
                                            {Spread::row, {2, 0, 6, -3, 7, -3}},
                                            {Spread::column, {2, -1, 4, -2, 7, -4}},
                                            {Spread::scalar, {2, -1, 4, -3, 6, -5}},
                                            {Spread::none, {1, -2, 3, -4, 5, -6}}};
  for (const auto& [spread, expected] : rows) {
    p.bias_spread = spread;
    EXPECT_EQ(run(p, args()), expected) << static_cast<int>(spread);
  }
  p.bias_spread = Spread::none;
  p.x_spread = Spread::column;
  EXPECT_EQ(run(p, args()), Floats({1, 1, 1, -2, -2, -2}));
  p.x_spread = Spread::scalar;
  EXPECT_EQ(run(p, args()), Floats({1, 1, 1, 1, 1, 1}));
}

TEST(PointwiseReference, MultipliesYByTheRunTimeNumber) {
  PointwiseArgs a = args();
  a.multiplier = 0.5f;
  const Pointwise p{.rows = 1, .width = 3, .op = PointwiseOp::add_mul_act, .dtype = f32};
  EXPECT_EQ(run(p, a), Floats({1 + 5 + 1, -2 + 10 + 2, 3 + 15 + 3}));
}

TEST(PointwiseReference, AlphaIsTheActivationsOwnUnlessGiven) {
  const Pointwise p{
      .rows = 1, .width = 2, .activation = Activation::leaky_relu, .dtype = f32, .bias_spread = Spread::none};
  EXPECT_EQ(run(p, args())[1], -2 * 0.01f);
  PointwiseArgs a = args();
  a.alpha = 0.5f;
  EXPECT_EQ(run(p, a), Floats({1, -1}));
}

// x + m * y + bias = 1 + 2^-8 + 2^-9 - 1: exact in fp32, but 1 + 2^-8 rounds to 1 in bf16.
TEST(PointwiseReference, TheRoundingContractsDiffer) {
  const std::uint16_t x[] = {0x3f80};     // 1
  const std::uint16_t y[] = {0x3b80};     // 2^-8
  const std::uint16_t bias[] = {0xbf80};  // -1
  PointwiseArgs a;
  a.x = x;
  a.y = y;
  a.bias = bias;
  Pointwise p{.rows = 1, .width = 1, .op = PointwiseOp::add_mul_act, .activation = Activation::identity, .dtype = bf16};
  EXPECT_EQ(run<std::uint16_t>(p, a)[0], 0x3b80);
  p.rounding = Rounding::torch;
  EXPECT_EQ(run<std::uint16_t>(p, a)[0], 0x0000);
}

// The product is rounded to y's type in the torch contract: (1 + 2^-7) * (1 + 2^-7) has a bit that bf16 drops.
TEST(PointwiseReference, TorchRoundsTheProduct) {
  const float x[] = {0};
  const std::uint16_t y[] = {0x3f81};
  PointwiseArgs a;
  a.x = x;
  a.y = y;
  a.multiplier = 1.0078125f;
  Pointwise p{.rows = 1,
              .width = 1,
              .op = PointwiseOp::add_mul_act,
              .activation = Activation::identity,
              .dtype = f32,
              .y_dtype = bf16,
              .bias_spread = Spread::none};
  EXPECT_EQ(run(p, a)[0], 1.0078125f * 1.0078125f);
  p.rounding = Rounding::torch;
  EXPECT_EQ(run(p, a)[0], 1.015625f);
}

TEST(PointwiseReference, SpecialValuesPropagate) {
  const float x[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-40f};
  PointwiseArgs a;
  a.x = x;
  Pointwise p{.rows = 1, .width = 5, .activation = Activation::relu, .dtype = f32, .bias_spread = Spread::none};
  const Floats out = run(p, a);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], INFINITY);
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[4], 1e-40f) << "denormals are kept";
}

TEST(PointwiseTolerance, IsExactWhereNothingTranscendentalIsComputed) {
  const auto tolerance = [](const char* text) { return Pointwise::family().tolerance(problem(text).data(), 0, 0); };
  EXPECT_EQ(tolerance("pointwise activation=relu").ulps, 0);
  EXPECT_EQ(tolerance("pointwise activation=gelu dtype=f32").ulps, 6);
  EXPECT_EQ(tolerance("pointwise activation=gelu dtype=bf16").ulps, 1);
  EXPECT_EQ(tolerance("pointwise activation=gelu dtype=bf16 out_dtype=f32").ulps, 6);
  EXPECT_EQ(tolerance("pointwise activation=gelu dtype=bf16 out_dtype=f32 rounding=torch").ulps, 1);
}

TEST(PointwiseBytes, AreOneReadOfEachOperandAndOneWrite) {
  const auto bytes = [](const char* text) { return Pointwise::family().bytes(problem(text).data()); };
  EXPECT_EQ(bytes("pointwise rows=10 width=64 dtype=bf16"), 2 * 1280 + 128);
  EXPECT_EQ(bytes("pointwise rows=10 width=64 dtype=f32 op=add_mul_act bias_spread=none"), 3 * 2560);
  EXPECT_EQ(bytes("pointwise rows=10 width=64 dtype=bf16 out_dtype=f32 bias_spread=column bias_dtype=f32"),
            1280 + 2560 + 40);
}

// ---- pass=backward

TEST(PointwiseBackward, RefusesWhatItHasNoGradientOf) {
  const auto refused = [](const std::string& rest) { return test::refusal("pointwise pass=backward " + rest); };
  EXPECT_EQ(refused(""), "");
  EXPECT_EQ(refused("op=add_mul_act bias_gradient=bf16 multiplier_gradient=f32"), "");
  EXPECT_EQ(refused("bias_spread=none bias_gradient=f32"), "") << "the bias was added before";
  EXPECT_TRUE(test::has(refused("x_spread=row"), "x_spread=full and y_spread=full"));
  EXPECT_TRUE(test::has(refused("op=add_mul_act y_spread=scalar"), "x_spread=full and y_spread=full"));
  EXPECT_TRUE(test::has(refused("bias_spread=column bias_gradient=f32"), "bias_gradient is for bias_spread=row"));
  EXPECT_TRUE(test::has(refused("multiplier_gradient=f32"), "multiplier_gradient is for op=add_mul_act"));
  EXPECT_TRUE(test::has(refused("width=64 x_stride=63"), "would overlap below width"));
  EXPECT_TRUE(test::has(refused("width=536870913"), "width is too large"));
  EXPECT_TRUE(test::has(refused("rows=70368744177664 width=64"), "2^46 elements"));
  EXPECT_EQ(refused("width=64 out_stride=10"), "") << "of an input";
  EXPECT_EQ(refused("width=64 y_stride=10"), "") << "bias_act reads no y";
  EXPECT_TRUE(test::has(test::refusal("pointwise bias_gradient=f32"), "are for pass=backward"));
}

// Found in review: the gradient of the conversion to out was left out.
TEST(PointwiseBackward, RoundsTheGradientToTheTypeOfZInEagerMode) {
  const AnyProblem p = test::problem(
      "pointwise rows=1 width=1 dtype=f16 out_dtype=f32 bias_spread=none activation=leaky_relu rounding=torch "
      "pass=backward");
  const std::uint16_t x = 0xbc00;  // -1
  const float gradient = 1 + 0x1p-11F;
  std::uint16_t made = 0;
  PointwiseArgs args;
  args.x = &x;
  args.gradient = &gradient;
  args.x_gradient = &made;
  args.alpha = 0.75F;
  p.family().reference(p.data(), &args);
  EXPECT_EQ(made, 0x3a00) << "0.75: out had the type of z before it was stored";
}

TEST(PointwiseBackward, OperandsFollowFromTheProblem) {
  const std::string text =
      "pointwise rows=10 width=6 pass=backward op=add_mul_act y_dtype=f32 x_stride=8 out_stride=7 ";
  EXPECT_EQ(test::span(text, "gradient"), (9 * 7 + 6) * 2);
  EXPECT_EQ(test::span(text, "x_gradient"), (9 * 8 + 6) * 2);
  EXPECT_EQ(test::span(text, "y_gradient"), 60 * 4);
  EXPECT_EQ(test::span(text, "out"), 0);
  EXPECT_EQ(test::span(text, "workspace"), 0);
  EXPECT_EQ(test::span(text + "bias_gradient=f32", "bias_gradient"), 6 * 4);
  EXPECT_EQ(test::span(text + "bias_gradient=f32", "workspace"), (6 + 6 + 2) * 4) << "a tile, a chunk, two counters";
  EXPECT_EQ(test::span(text + "multiplier_gradient=f32", "workspace"), (1 + 1 + 2) * 4);
  EXPECT_EQ(test::span("pointwise rows=10 width=6", "x_gradient"), 0);
}

TEST(PointwiseBackward, TakesVectorsThatDivideRowsAndThenAnyAddress) {
  EXPECT_EQ(test::summary("pointwise width=4096 pass=backward"), "rows:16:16 ragged:16:1");
  EXPECT_EQ(test::summary("pointwise width=4096 pass=backward bias_dtype=f32"), "rows:16:16 ragged:16:1");
  EXPECT_EQ(test::summary("pointwise width=4096 pass=backward out_dtype=f32"), "rows:16:16 ragged:16:1");
  EXPECT_EQ(test::summary("pointwise width=770 pass=backward"), "rows:4:4 ragged:16:1");
  EXPECT_EQ(test::summary("pointwise width=771 pass=backward"), "ragged:16:1");
  const auto first = [](const char* rest) {
    const AnyProblem p = test::problem(cat("pointwise pass=backward ", rest));
    const Config config = test::variants_of(p).front().config;
    return cat(config[pointwise::kVector], " ", config[pointwise::kUnroll]);
  };
  EXPECT_EQ(first("rows=500 width=1024 activation=silu"), "8 1") << "there are few";
  EXPECT_EQ(first("rows=1000 width=1024 activation=silu"), "16 1");
  EXPECT_EQ(first("rows=1000 width=1024 activation=gelu"), "8 1") << "which takes long";
  EXPECT_EQ(first("rows=2000 width=2048 activation=gelu"), "16 1");
  EXPECT_EQ(first("rows=1500 width=770 activation=gelu"), "4 4") << "no wider one divides the rows";
  EXPECT_EQ(test::summary("pointwise width=64 x_stride=68 pass=backward"), "rows:8:8 ragged:16:1");
}

TEST(PointwiseBackward, HasNoWarpOfItsOwnForANarrowRow) {
  const auto blocks = [](const char* text) {
    const AnyProblem p = test::problem(text);
    const PointwiseArgs args;
    Launch launch;
    step_of(p).launch(p.data(), &args, generic_model(90), variants_of(p).front().config, launch);
    return launch.grid[0];
  };
  EXPECT_EQ(blocks("pointwise rows=65536 width=33 pass=backward"), 65536U * 33 / 8 / 128) << "eight elements a thread";
  EXPECT_EQ(blocks("pointwise rows=65536 width=201 pass=backward"), 65536U * 32 / 128) << "most lanes have something";
}

// act'(z) of a bias and a multiplier by hand: srelu, whose slope is 2z.
TEST(PointwiseBackward, GradientsAreThoseOfTheFormula) {
  const AnyProblem p = test::problem(
      "pointwise rows=2 width=2 dtype=f32 op=add_mul_act activation=srelu pass=backward bias_gradient=f32 "
      "multiplier_gradient=f32");
  const float x[] = {1, -5, 2, 0}, y[] = {2, 3, 4, 1}, bias[] = {0.5F, 0.25F}, gradient[] = {1, 7, 10, 2};
  float of_x[4], of_y[4], of_bias[2], of_multiplier = 0;
  PointwiseArgs args;
  args.x = x;
  args.y = y;
  args.bias = bias;
  args.gradient = gradient;
  args.x_gradient = of_x;
  args.y_gradient = of_y;
  args.bias_gradient = of_bias;
  args.multiplier_gradient = &of_multiplier;
  args.multiplier = 0.5F;
  p.family().reference(p.data(), &args);
  // z is 2.5, -3.25, 4.5 and 0.75.
  EXPECT_EQ(std::vector<float>(of_x, of_x + 4), std::vector<float>({5, 0, 90, 3}));
  EXPECT_EQ(std::vector<float>(of_y, of_y + 4), std::vector<float>({2.5F, 0, 45, 1.5F}));
  EXPECT_EQ(std::vector<float>(of_bias, of_bias + 2), std::vector<float>({95, 3}));
  EXPECT_EQ(of_multiplier, 5 * 2 + 90 * 4 + 3);
}

}  // namespace
}  // namespace quern
