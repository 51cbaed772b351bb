// glu's reference against formulas written here in double: values, and slopes by differences and by dual numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/activation_reference.h"
#include "glu/glu.h"
#include "glu/operands.h"

namespace quern {
namespace {

constexpr std::int64_t kWidth = 240;
constexpr float kLimit = 3.0F;
constexpr float kBeta = 2.5F;

float argument(std::int64_t i) { return (static_cast<float>(i) + 0.37F) / 20 - 6; }  // away from kinks
float gate_number(std::int64_t i) { return (static_cast<float>(i * 89 % 240) + 0.41F) / 24 - 5; }
float gradient_number(std::int64_t i) { return i % 2 == 0 ? 1.5F : -0.75F; }

// Rows of f32 in a layout, and what the reference makes of them.
struct GluRow {
  Glu problem;
  GluArgs args;
  std::vector<float> x, gate, gradient, out, x_gradient, gate_gradient;

  explicit GluRow(const Glu& p) : problem(p) {
    problem.rows = 1;
    problem.width = kWidth;
    problem.dtype = f32;
    const auto n = static_cast<std::size_t>(kWidth);
    x.resize(2 * n), gate.resize(n), gradient.resize(n), out.resize(n), x_gradient.resize(2 * n),
        gate_gradient.resize(n);
    for (std::int64_t c = 0; c < kWidth; ++c) {
      const glu::Columns at = glu::columns_of(problem, c);
      x.at(static_cast<std::size_t>(at.a)) = argument(c);
      gates().at(static_cast<std::size_t>(at.g)) = gate_number(c);
      gradient.at(static_cast<std::size_t>(c)) = gradient_number(c);
    }
    args.x = x.data();
    args.gate = gate.data();
    args.gradient = gradient.data();
    args.out = out.data();
    args.x_gradient = x_gradient.data();
    args.gate_gradient = gate_gradient.data();
    args.limit = kLimit;
    args.beta = kBeta;
  }
  std::vector<float>& gates() { return problem.layout == GluLayout::split ? gate : x; }
  void run() { glu::reference(problem, args); }
  double out_at(std::int64_t c) const { return out.at(static_cast<std::size_t>(c)); }
  double of_a(std::int64_t c) const { return x_gradient.at(static_cast<std::size_t>(glu::columns_of(problem, c).a)); }
  double of_g(std::int64_t c) const {
    const auto at = static_cast<std::size_t>(glu::columns_of(problem, c).g);
    return problem.layout == GluLayout::split ? gate_gradient.at(at) : x_gradient.at(at);
  }
};

class GluFormulas : public testing::TestWithParam<int> {
 protected:
  static const common::ActivationRow& row() { return common::kActivationRows[GetParam()]; }
  static double act(double x) { return row().reference(x, row().alpha); }
  static double slope(double x) {
    const auto central = [&](double step) { return (act(x + step) - act(x - step)) / (2 * step); };
    return (4 * central(1e-3) - central(2e-3)) / 3;  // Richardson's: off by the fourth power of the step
  }
  static void expect_near(double got, double expected, const char* what, std::int64_t c) {
    EXPECT_NEAR(got, expected, std::max(std::abs(expected) * 0x1p-14, 0x1p-17)) << row().name << ": " << what << c;
  }
};
INSTANTIATE_TEST_SUITE_P(Activations, GluFormulas,
                         testing::Range(0, static_cast<int>(std::size(common::kActivationRows))),
                         [](const auto& each) { return std::string(common::kActivationRows[each.param].name); });

TEST_P(GluFormulas, AreThoseOfTheGatedKinds) {
  for (const GluGating gating : {GluGating::product, GluGating::clamped, GluGating::tanh}) {
    for (const GluLayout layout :
         {GluLayout::halves, GluLayout::swapped, GluLayout::interleaved, GluLayout::blocks, GluLayout::split}) {
      Glu p;
      p.activation = static_cast<Activation>(GetParam());
      p.gating = gating;
      p.layout = layout;
      p.block = layout == GluLayout::blocks ? 16 : p.block;
      GluRow forward(p);
      forward.run();
      p.pass = GluPass::backward;
      p.recompute = GluRecompute::out;
      GluRow backward(p);
      backward.run();
      for (std::int64_t c = 0; c < kWidth; ++c) {
        const double a = argument(c), g = gate_number(c), d = gradient_number(c);
        const bool clamped = gating == GluGating::clamped, tanh = gating == GluGating::tanh;
        const double u = clamped ? std::min(a, double{kLimit}) : a;
        const double gate = clamped ? std::clamp(g, -double{kLimit}, double{kLimit}) + 1
                            : tanh  ? kBeta * std::tanh(g / kBeta)
                                    : g;
        const double of_u = clamped && a > kLimit ? 0 : slope(u);
        const double t = std::tanh(g / kBeta);
        const double of_gate = clamped ? (std::abs(g) > kLimit ? 0 : 1) : tanh ? 1 - t * t : 1;
        expect_near(forward.out_at(c), act(u) * gate, "out ", c);
        expect_near(backward.out_at(c), act(u) * gate, "recomputed out ", c);
        expect_near(backward.of_a(c), d * gate * of_u, "gradient of a ", c);
        expect_near(backward.of_g(c), d * act(u) * of_gate, "gradient of g ", c);
      }
    }
  }
}

// ---- Dual numbers: a value and its slope

struct Dual {
  double value;
  double slope;
};
Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
Dual operator*(double k, Dual a) { return {k * a.value, k * a.slope}; }
Dual logistic(Dual x) {
  const double s = 1 / (1 + std::exp(-x.value));
  return {s, s * (1 - s) * x.slope};
}
Dual tanh_of(Dual x) {
  const double t = std::tanh(x.value);
  return {t, (1 - t * t) * x.slope};
}
Dual erf_of(Dual x) { return {std::erf(x.value), 1.1283791670955126 * std::exp(-x.value * x.value) * x.slope}; }

Dual silu(Dual x) { return x * logistic(x); }
Dual qgelu(Dual x) { return x * logistic(double{1.702F} * x); }
Dual gelu(Dual x) { return 0.5 * (x * (Dual{1, 0} + erf_of(0.70710678118654752 * x))); }
Dual gelu_tanh(Dual x) { return 0.5 * (x * (Dual{1, 0} + tanh_of(0.7978845608028654 * (x + 0.044715 * (x * x * x))))); }
Dual situ(Dual x) { return 4 * (tanh_of(0.25 * x) * logistic(x)); }

Dual operator/(Dual x, double k) { return {x.value / k, x.slope / k}; }
Dual exp_of(Dual x) { return {std::exp(x.value), std::exp(x.value) * x.slope}; }
Dual log1p_of(Dual x) { return {std::log1p(x.value), x.slope / (1 + x.value)}; }
Dual constant(double value) { return {value, 0}; }
Dual positive(Dual x) { return x.value > 0 ? x : constant(0); }
Dual at_most(Dual x, double limit) { return x.value > limit ? constant(limit) : x; }
Dual at_least(Dual x, double limit) { return x.value < limit ? constant(limit) : x; }

// Every activation, with the default of its parameter.
Dual dual_activation(Activation activation, Dual x) {
  const auto alpha = double{common::kActivationRows[static_cast<int>(activation)].alpha};
  const Dual one = constant(1);
  switch (activation) {
    case Activation::identity:
      return x;
    case Activation::relu:
      return positive(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
    case Activation::gelu_new:
    case Activation::gelu_fast:
      return gelu_tanh(x);
    case Activation::silu:
      return silu(x);
    case Activation::sigmoid:
      return logistic(x);
    case Activation::tanh:
      return tanh_of(x);
    case Activation::qgelu:
      return qgelu(x);
    case Activation::srelu:
      return positive(x) * positive(x);
    case Activation::fatrelu:
      return x.value > alpha ? x : constant(0);
    case Activation::elu:
      return x.value > 0 ? x : alpha * (exp_of(x) + constant(-1));
    case Activation::leaky_relu:
      return x.value > 0 ? x : alpha * x;
    case Activation::mish:
      return x * tanh_of(log1p_of(exp_of(x)));
    case Activation::softplus:
      return log1p_of(exp_of(x));
    case Activation::hardswish:
      return x * at_most(positive(x + constant(3)), 6) / 6;
    case Activation::exp:
      return exp_of(x);
    case Activation::abs:
      return x.value < 0 ? -1 * x : x;
    case Activation::sin:
      return {std::sin(x.value), std::cos(x.value) * x.slope};
    case Activation::cos:
      return {std::cos(x.value), -std::sin(x.value) * x.slope};
    case Activation::situ:
      return alpha * (tanh_of(x / alpha) * logistic(x));
  }
  ADD_FAILURE() << "an activation without a formula here: " << static_cast<int>(activation);
  return one;
}

// A limit ends the slope of what is beyond it, and tanh bends that of g.
TEST_P(GluFormulas, OfEveryGateHaveTheSlopesOfDualNumbers) {
  for (const GluGating gating : {GluGating::product, GluGating::clamped, GluGating::tanh}) {
    const bool clamped = gating == GluGating::clamped;
    Glu p;
    p.activation = static_cast<Activation>(GetParam());
    p.gating = gating;
    p.pass = GluPass::backward;
    p.recompute = GluRecompute::out;
    GluRow made(p);
    made.run();
    const auto out = [&](Dual a, Dual g) {
      const double limit{kLimit}, beta{kBeta};
      const Dual u = clamped ? at_most(a, limit) : a;
      const Dual v = clamped                     ? at_most(at_least(g, -limit), limit) + constant(1)
                     : gating == GluGating::tanh ? beta * tanh_of(g / beta)
                                                 : g;
      return dual_activation(p.activation, u) * v;
    };
    for (std::int64_t c = 0; c < kWidth; ++c) {
      const double a = argument(c), g = gate_number(c), d = gradient_number(c);
      expect_near(made.out_at(c), out({a, 0}, {g, 0}).value, "out by dual numbers ", c);
      expect_near(made.of_a(c), d * out({a, 1}, {g, 0}).slope, "slope of a ", c);
      expect_near(made.of_g(c), d * out({a, 0}, {g, 1}).slope, "slope of g ", c);
    }
  }
}

TEST(GluGradients, AreThoseOfDualNumbers) {
  struct Kind {
    Activation activation;
    Dual (*formula)(Dual);
  };
  for (const Kind& kind : {Kind{Activation::silu, silu}, Kind{Activation::qgelu, qgelu}, Kind{Activation::gelu, gelu},
                           Kind{Activation::gelu_tanh, gelu_tanh}, Kind{Activation::situ, situ}}) {
    Glu p;
    p.activation = kind.activation;
    p.pass = GluPass::backward;
    GluRow row(p);
    row.run();
    for (std::int64_t c = 0; c < kWidth; ++c) {
      const Dual act = kind.formula({argument(c), 1});
      const double d = gradient_number(c), of_a = d * gate_number(c) * act.slope, of_g = d * act.value;
      EXPECT_NEAR(row.of_a(c), of_a, std::max(std::abs(of_a) * 0x1p-18, 0x1p-17)) << c;
      EXPECT_NEAR(row.of_g(c), of_g, std::max(std::abs(of_g) * 0x1p-20, 0x1p-30)) << c;
    }
  }
}

// Found by the case table: an fp32 scale was off by 839 units, as its block's largest gradient had a slope that nearly
// cancels.
TEST(GluData, NoScaleIsMadeOfASlopeThatCancels) {
  Glu p;
  p.rows = p.width = 1;
  p.layout = GluLayout::split;
  p.dtype = f32;
  p.activation = Activation::gelu_tanh;
  p.pass = GluPass::backward;
  const float gate = 2, gradient = 500;
  GluArgs args;
  args.gate = &gate;
  args.gradient = &gradient;
  int taken = 0;
  for (int i = 0; i < 4000; ++i) {
    const float a = -0.8F + static_cast<float>(i) * 0x1p-12F;
    args.x = &a;
    const double slope = common::kActivationRows[static_cast<int>(p.activation)].derivative(a, 0);
    const bool takes = glu::is_same_everywhere(p, args);
    taken += takes ? 1 : 0;
    EXPECT_FALSE(takes && std::abs(slope) < 0x1p-7) << a << ", where the slope is " << slope;
  }
  EXPECT_GT(taken, 2000) << "most arguments have results without a doubt";
}

// ---- Numbers at the edge

float forward_of(const Glu& problem, float a, float g, GluArgs args = {}) {
  Glu p = problem;
  p.rows = p.width = 1;
  p.dtype = f32;
  const float x[] = {a, g};
  float out = 0;
  args.x = x;
  args.out = &out;
  glu::reference(p, args);
  return out;
}

TEST(GluEdges, NanPropagatesThroughEveryGate) {
  for (const GluGating gating : {GluGating::product, GluGating::clamped, GluGating::tanh}) {
    Glu p;
    p.activation = Activation::relu;
    p.gating = gating;
    EXPECT_TRUE(std::isnan(forward_of(p, NAN, 1))) << static_cast<int>(gating);
    EXPECT_TRUE(std::isnan(forward_of(p, 1, NAN))) << static_cast<int>(gating);
  }
}

TEST(GluEdges, InfinitiesAreLimitedOrStay) {
  Glu p;
  p.activation = Activation::relu;
  EXPECT_EQ(forward_of(p, HUGE_VALF, 2), HUGE_VALF);
  EXPECT_TRUE(std::isnan(forward_of(p, -HUGE_VALF, HUGE_VALF))) << "0 times infinity";
  p.gating = GluGating::clamped;
  EXPECT_EQ(forward_of(p, HUGE_VALF, HUGE_VALF), 7.0F * 8.0F);
  EXPECT_EQ(forward_of(p, 2, -HUGE_VALF), 2.0F * -6.0F);
  p.gating = GluGating::tanh;
  EXPECT_EQ(forward_of(p, 2, -HUGE_VALF), -50.0F);
  EXPECT_TRUE(std::signbit(forward_of(Glu{}, -0.0F, 1)));
}

TEST(GluEdges, BiasIsAddedBeforeAndTheScaleMultipliesTheResult) {
  Glu p;
  p.activation = Activation::srelu;
  p.bias = p.scale = f32;
  const float bias[] = {1, -0.5F}, scale = 3;
  GluArgs args;
  args.bias = bias;
  args.scale = &scale;
  EXPECT_EQ(forward_of(p, 2, 4, args), 9 * 3.5F * 3);
  p.gating = GluGating::clamped;
  args.limit = 2.5F;
  args.offset = -1;
  EXPECT_EQ(forward_of(p, 2, 4, args), 2.5F * 2.5F * 1.5F * 3);
  args.limit = -1;
  EXPECT_EQ(forward_of(p, 2, 4, args), 0) << "the limits cross: g is the upper one, -1, and a is not above it";
  p.activation = Activation::identity;
  EXPECT_EQ(forward_of(p, 2, 4, args), -1 * -2.0F * 3);
}

TEST(GluEdges, EagerRoundingRoundsEachResult) {
  Glu p;
  p.rows = p.width = 1;
  p.dtype = p.scale = bf16;
  p.activation = Activation::identity;
  p.rounding = Rounding::torch;
  const std::uint16_t x[] = {0x3f81, 0x3f81}, scale = 0x3f81;  // each 1 + 2^-7, whose square is 1 + 2^-6 + 2^-14
  std::uint16_t out = 0;
  GluArgs args;
  args.x = x;
  args.scale = &scale;
  args.out = &out;
  glu::reference(p, args);
  EXPECT_EQ(out, 0x3f83) << "(1 + 2^-6)(1 + 2^-7), rounded";
}

// The slope is kept at a limit, and 0 beyond.
TEST(GluEdges, AtALimitTheSlopeIsKept) {
  Glu p;
  p.rows = 1;
  p.width = 3;
  p.dtype = f32;
  p.activation = Activation::identity;
  p.gating = GluGating::clamped;
  p.pass = GluPass::backward;
  const float x[] = {7, std::nextafter(7.0F, 8.0F), -100, 7, -7, std::nextafter(-7.0F, -8.0F)};
  const float gradient[] = {1, 1, 1};
  float made[6];
  GluArgs args;
  args.x = x;
  args.gradient = gradient;
  args.x_gradient = made;
  glu::reference(p, args);
  EXPECT_EQ(std::vector<float>(made, made + 6), std::vector<float>({8, 0, -6, 7, 7, 0}));
}

struct GradientsOfOne {
  float a, g;
};
GradientsOfOne gradients_of(const Glu& problem, float a, float g, float gradient) {
  Glu p = problem;
  p.rows = p.width = 1;
  p.dtype = f32;
  p.pass = GluPass::backward;
  const float x[] = {a, g};
  float made[2];
  GluArgs args;
  args.x = x;
  args.gradient = &gradient;
  args.x_gradient = made;
  glu::reference(p, args);
  return {made[0], made[1]};
}

// Found in review: 0 times infinity.
TEST(GluEdges, BeyondALimitTheGradientIsZeroWhateverTheOtherFactors) {
  Glu p;
  p.gating = GluGating::clamped;
  EXPECT_EQ(gradients_of(p, 8, 1, HUGE_VALF).a, 0);
  EXPECT_EQ(gradients_of(p, 1, 8, HUGE_VALF).g, 0);
  EXPECT_EQ(gradients_of(p, NAN, 1, 1).a, 0) << "NaN is within no limit";
  EXPECT_EQ(gradients_of(p, 1, NAN, 1).g, 0);
  EXPECT_TRUE(std::isnan(gradients_of(p, 1, NAN, 1).a));
  p.gating = GluGating::product;
  for (const Activation each : {Activation::relu, Activation::fatrelu, Activation::srelu}) {
    p.activation = each;
    EXPECT_EQ(gradients_of(p, -1, HUGE_VALF, 1).a, 0) << static_cast<int>(each);
  }
  p.activation = Activation::hardswish;
  EXPECT_EQ(gradients_of(p, -4, HUGE_VALF, 1).a, 0);
}

}  // namespace
}  // namespace quern
