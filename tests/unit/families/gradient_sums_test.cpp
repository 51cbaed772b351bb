// The sums that glu and pointwise make of gradients, against differences in double of sum(gradient * out), whose
// derivatives by the bias, by the factor of a row and by the multiplier they are. The formulas are written here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "common/activation_reference.h"
#include "common/host_types.h"
#include "glu/operands.h"
#include "pointwise/backward.h"
#include "pointwise/operands.h"
#include "unit/families/support.h"

namespace quern {
namespace {

// More than a tile of rows.
constexpr std::int64_t kSummedRows = 150;

// Multiples of a step, away from the kinks of activations and limits by a third of it, which biases in steps keep.
float stepped(std::int64_t i, std::int64_t count, float steps, float from) {
  return (static_cast<float>(i * 89 % count) + 0.37F) / steps + from;
}
std::vector<float> numbers(std::int64_t count, std::int64_t period, float steps, float from) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = stepped(i, period, steps, from);
  return all;
}
std::vector<float> biases(std::int64_t count, float steps) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    all[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 11 - 5) / steps;
  return all;
}

// The derivative at 0 of a function of a step, off by the fourth power of the step.
double derivative(const std::function<double(double)>& of) {
  const auto central = [&](double step) { return (of(step) - of(-step)) / (2 * step); };
  return (4 * central(1e-3) - central(2e-3)) / 3;
}

struct Expected {
  double sum = 0;
  double magnitudes = 0;  // the sum of the absolute values
  double count = 0;
  void add(double term) {
    sum += term;
    magnitudes += std::abs(term);
    count += 1;
  }
};

class SumsOfGradients : public testing::TestWithParam<int> {
 protected:
  static const common::ActivationRow& row() { return common::kActivationRows[GetParam()]; }
  static double act(double x) { return row().reference(x, double{row().alpha}); }
  // A term that is missing, or there twice, is off by far more.
  static void expect_sum(float got, const Expected& e, const std::string& what) {
    EXPECT_NEAR(double{got}, e.sum, e.magnitudes * 0x1p-14 + e.count * 0x1p-18) << row().name << ": " << what;
  }
};
INSTANTIATE_TEST_SUITE_P(Activations, SumsOfGradients,
                         testing::Range(0, static_cast<int>(std::size(common::kActivationRows))),
                         [](const auto& each) { return std::string(common::kActivationRows[each.param].name); });

// ---- glu

// A problem in f32 with a bias and a factor for each row, and both gradients of these.
struct SummedGlu {
  static constexpr std::int64_t kWidth = 12;
  Glu p;
  std::vector<float> x, gate, bias, scale, gradient, made, gate_made, of_bias, of_scale;

  SummedGlu(Activation activation, GluGating gating, GluLayout layout) {
    p.rows = kSummedRows;
    p.width = kWidth;
    p.activation = activation;
    p.gating = gating;
    p.layout = layout;
    p.block = layout == GluLayout::blocks ? 4 : p.block;
    p.pass = GluPass::backward;
    p.dtype = p.bias = p.bias_gradient = p.scale = f32;
    x = numbers(2 * p.rows * p.width, 240, 20, -6);
    gate = numbers(p.rows * p.width, 200, 20, -5);
    bias = biases(2 * p.width, 20);
    scale = numbers(p.rows, 70, 32, -1);
    gradient = numbers(p.rows * p.width, 60, 16, -2);
    made.resize(x.size()), gate_made.resize(gate.size());
    of_bias.resize(bias.size()), of_scale.resize(scale.size());
    GluArgs args;
    args.x = x.data();
    args.gate = gate.data();
    args.bias = bias.data();
    args.scale = scale.data();
    args.gradient = gradient.data();
    args.x_gradient = made.data();
    args.gate_gradient = gate_made.data();
    args.bias_gradient = of_bias.data();
    args.scale_gradient = of_scale.data();
    args.limit = 3;
    args.beta = 2.5F;
    glu::reference(p, args);
  }

  double a(std::int64_t r, std::int64_t c) const {
    return double{x.at(static_cast<std::size_t>(r * glu::row_elements(p) + glu::columns_of(p, c).a))} +
           double{bias.at(static_cast<std::size_t>(glu::bias_columns(p, c).a))};
  }
  double g(std::int64_t r, std::int64_t c) const {
    const std::vector<float>& of = glu::is_split(p) ? gate : x;
    return double{of.at(static_cast<std::size_t>(r * glu::row_elements(p) + glu::columns_of(p, c).g))} +
           double{bias.at(static_cast<std::size_t>(glu::bias_columns(p, c).g))};
  }
  double d(std::int64_t r, std::int64_t c) const {
    return double{gradient.at(static_cast<std::size_t>(r * p.width + c))};
  }
};

double gated(const std::function<double(double)>& act, GluGating gating, double a, double g) {
  if (gating == GluGating::clamped) return act(std::min(a, 3.0)) * (std::max(-3.0, std::min(g, 3.0)) + 1);
  return act(a) * (gating == GluGating::tanh ? 2.5 * std::tanh(g / 2.5) : g);
}

TEST_P(SumsOfGradients, OfGluAreDifferencesByBiasAndScale) {
  for (const GluGating gating : {GluGating::product, GluGating::clamped, GluGating::tanh}) {
    for (const GluLayout layout :
         {GluLayout::halves, GluLayout::swapped, GluLayout::interleaved, GluLayout::blocks, GluLayout::split}) {
      const SummedGlu glu(static_cast<Activation>(GetParam()), gating, layout);
      const auto out = [&](double a, double g) { return gated(act, gating, a, g); };
      const std::string where = cat(" gating ", static_cast<int>(gating), " layout ", static_cast<int>(layout));
      std::vector<Expected> of_scale(static_cast<std::size_t>(kSummedRows));
      for (std::int64_t c = 0; c < SummedGlu::kWidth; ++c) {
        Expected of_a, of_g;
        for (std::int64_t r = 0; r < kSummedRows; ++r) {
          const double a = glu.a(r, c), g = glu.g(r, c), d = glu.d(r, c);
          const double s = double{glu.scale.at(static_cast<std::size_t>(r))};
          of_a.add(derivative([&](double step) { return d * s * out(a + step, g); }));
          of_g.add(derivative([&](double step) { return d * s * out(a, g + step); }));
          of_scale.at(static_cast<std::size_t>(r)).add(derivative([&](double step) {
            return d * (s + step) * out(a, g);
          }));
        }
        const glu::Columns at = glu::bias_columns(glu.p, c);
        expect_sum(glu.of_bias.at(static_cast<std::size_t>(at.a)), of_a, cat("bias of a ", c, where));
        expect_sum(glu.of_bias.at(static_cast<std::size_t>(at.g)), of_g, cat("bias of g ", c, where));
      }
      for (std::size_t r = 0; r < of_scale.size(); ++r)
        expect_sum(glu.of_scale.at(r), of_scale[r], cat("scale ", r, where));
    }
  }
}

// ---- pointwise

struct SummedPointwise {
  static constexpr std::int64_t kWidth = 24;
  static constexpr float kMultiplier = 0.5F;
  Pointwise p;
  std::vector<float> x, y, bias, gradient, made, y_made, of_bias;
  float of_multiplier = 0;

  SummedPointwise(Activation activation, PointwiseOp op) {
    p.rows = kSummedRows;
    p.width = kWidth;
    p.op = op;
    p.activation = activation;
    p.pass = PointwisePass::backward;
    p.dtype = p.bias_gradient = f32;
    p.multiplier_gradient = pointwise::has_y(p) ? f32 : DType::none;
    x = numbers(p.rows * p.width, 240, 20, -6);
    y.resize(x.size());
    for (std::size_t i = 0; i < y.size(); ++i)  // in steps of x
      y[i] = static_cast<float>(static_cast<int>(i * 31 % 41) - 20) / 10;
    bias = biases(p.width, 20);
    gradient = numbers(p.rows * p.width, 60, 16, -2);
    made.resize(x.size()), y_made.resize(x.size()), of_bias.resize(bias.size());
    PointwiseArgs args;
    args.x = x.data();
    args.y = y.data();
    args.bias = bias.data();
    args.gradient = gradient.data();
    args.x_gradient = made.data();
    args.y_gradient = y_made.data();
    args.bias_gradient = of_bias.data();
    args.multiplier_gradient = &of_multiplier;
    args.multiplier = kMultiplier;
    pointwise::backward::reference(p, args);
  }
};

TEST_P(SumsOfGradients, OfPointwiseAreDifferencesByBiasAndMultiplier) {
  for (const PointwiseOp op : {PointwiseOp::bias_act, PointwiseOp::add_mul_act}) {
    const SummedPointwise made(static_cast<Activation>(GetParam()), op);
    const bool has_y = op == PointwiseOp::add_mul_act;
    Expected of_multiplier;
    for (std::int64_t c = 0; c < SummedPointwise::kWidth; ++c) {
      Expected of_bias;
      for (std::int64_t r = 0; r < kSummedRows; ++r) {
        const auto i = static_cast<std::size_t>(r * SummedPointwise::kWidth + c);
        const double x = double{made.x[i]} + double{made.bias[static_cast<std::size_t>(c)]};
        const double y = has_y ? double{made.y[i]} : 0, d = double{made.gradient[i]};
        const double m = double{SummedPointwise::kMultiplier};
        of_bias.add(derivative([&](double step) { return d * act(x + m * y + step); }));
        of_multiplier.add(derivative([&](double step) { return d * act(x + (m + step) * y); }));
      }
      expect_sum(made.of_bias[static_cast<std::size_t>(c)], of_bias, cat("bias ", c, has_y ? " with y" : ""));
    }
    if (has_y) expect_sum(made.of_multiplier, of_multiplier, "multiplier");
  }
}

// ---- What is summed is what is stored

double sum_of_column(DType type, const std::vector<std::uint16_t>& stored, std::int64_t width, std::int64_t column) {
  double sum = 0;
  for (std::int64_t r = 0; r < kSummedRows; ++r) sum += common::read_float(type, stored.data(), r * width + column);
  return sum;
}

TEST(SumsOfStoredGradients, AreOfNumbersRoundedToTheirType) {
  for (const DType type : {f16, bf16}) {
    Glu p;
    p.rows = kSummedRows;
    p.width = 8;
    p.dtype = type;
    p.bias_gradient = f32;
    p.pass = GluPass::backward;
    const auto count = static_cast<std::size_t>(p.rows * 2 * p.width);
    std::vector<std::uint16_t> x(count), gradient(count), made(count);
    const std::vector<float> values = numbers(p.rows * 2 * p.width, 240, 40, -3);
    for (std::int64_t i = 0; i < p.rows * 2 * p.width; ++i) {
      common::write_float(type, x.data(), i, double{values.at(static_cast<std::size_t>(i))});
      common::write_float(type, gradient.data(), i, 1.01 + 0.001 * static_cast<double>(i % 16));
    }
    std::vector<float> of_bias(16);
    GluArgs args;
    args.x = x.data();
    args.gradient = gradient.data();
    args.x_gradient = made.data();
    args.bias_gradient = of_bias.data();
    glu::reference(p, args);
    for (std::int64_t c = 0; c < 16; ++c)
      EXPECT_NEAR(double{of_bias.at(static_cast<std::size_t>(c))}, sum_of_column(type, made, 16, c), 0x1p-15) << c;
  }
}

}  // namespace
}  // namespace quern
