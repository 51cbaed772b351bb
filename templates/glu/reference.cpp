// The plain reference: element by element in the order that Rounding promises, with the activation in double, and the
// sums of gradients in the kernel's order.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "common/activation_reference.h"
#include "common/host_types.h"
#include "expression/error_bound.h"
#include "glu/checks.h"
#include "glu/matrix.h"
#include "glu/quantized.h"
#include "rows/sums_reference.h"

namespace quern::glu {
namespace {

using common::ActivationRow;
using common::round_float;
using common::write_float;

// What an element of out is made of.
struct Element {
  float a;
  float g;
  double activated;
  double gate;
  double product;
};

// What one gives to the sums.
struct Parts {
  float a = 0;
  float g = 0;
  float product = 0;
};

class Reference {
 public:
  Reference(const Glu& problem, const GluArgs& args)
      : p_(problem),
        a_(args),
        row_(common::kActivationRows[static_cast<int>(problem.activation)]),
        alpha_(common::alpha_or_default(static_cast<int>(problem.activation), args.alpha)),
        limit_(step(args.limit)) {}

  // As a device would see it whose activations and their derivatives are off by as much as they may be, in this
  // direction, and those of gates in that.
  Reference nudged(double activations, double gates) const {
    Reference other = *this;
    other.of_activations_ = activations;
    other.of_gates_ = gates;
    return other;
  }

  bool counts(std::int64_t row) const {
    if (p_.counts == DType::none) return true;
    return row % p_.rows < common::read_integer(p_.counts, a_.counts.data, row / p_.rows);
  }

  float out(std::int64_t row, std::int64_t column) const { return scaled(row, element(row, column).product); }

  void write_forward(std::int64_t row, std::int64_t column) const {
    write_out(row, column, element(row, column).product);
  }

  Parts write_backward(std::int64_t row, std::int64_t column) const {
    const Element e = element(row, column);
    const Parts made = gradients(row, column, e);
    const Columns at = columns_of(p_, column);
    void* const gates = is_split(p_) ? a_.gate_gradient.data : a_.x_gradient.data;
    write_float(p_.dtype, a_.x_gradient.data, row * x_gradient_stride(p_) + at.a, made.a);
    write_float(p_.dtype, gates, row * x_gradient_stride(p_) + at.g, made.g);
    if (has_out(p_)) write_out(row, column, e.product);
    return {round_float(p_.dtype, made.a), round_float(p_.dtype, made.g), made.product};
  }

  // The gradients as x_gradient would have them.
  Parts gradients(std::int64_t row, std::int64_t column) const {
    const Parts made = gradients(row, column, element(row, column));
    return {round_float(p_.dtype, made.a), round_float(p_.dtype, made.g), made.product};
  }

  // How far another device's gradients in fp32 may be, by the functions of the activation and of its slope: what
  // multiplies them enlarges their errors.
  Parts gradient_errors(std::int64_t row, std::int64_t column, const expression::Function& value,
                        const expression::Function& slope) const {
    const Element e = element(row, column);
    const Parts made = gradients(row, column, e);
    const double of_product = std::abs(product_gradient(row, column)), alpha = static_cast<double>(alpha_);
    const auto error = [&](const expression::Function& f, double factor, float result) {
      if (result == 0 && factor != 0) return 0.0F;  // clamped
      const double off = factor * expression::formula_error(f, static_cast<double>(argument(e.a)), alpha, 0);
      return static_cast<float>(off + std::abs(static_cast<double>(result)) * 0x1p-22);  // two more roundings
    };
    return {error(slope, of_product * std::abs(e.gate), made.a), error(value, of_product, made.g)};
  }

 private:
  double product_gradient(std::int64_t row, std::int64_t column) const {
    const auto gradient =
        static_cast<float>(common::read_float(p_.dtype, a_.gradient.data, row * gradient_stride(p_) + column));
    return step(static_cast<float>(gradient * scale(row)));
  }

  Parts gradients(std::int64_t row, std::int64_t column, const Element& e) const {
    const auto gradient =
        static_cast<float>(common::read_float(p_.dtype, a_.gradient.data, row * gradient_stride(p_) + column));
    const double of_product = product_gradient(row, column);
    Parts made;
    made.a = static_cast<float>(gradient_of_a(e.a, step(of_product * e.gate)));
    made.g = static_cast<float>(gradient_of_g(e.g, step(of_product * e.activated)));
    made.product = static_cast<float>(static_cast<double>(gradient) * e.product);
    return made;
  }

  // A result is of fp32, or rounded as eager operators do. So a product that becomes 0 is 0 where it meets infinity.
  double step(double value) const {
    const auto single = static_cast<float>(value);
    return static_cast<double>(p_.rounding == Rounding::torch ? round_float(p_.dtype, single) : single);
  }

  double scale(std::int64_t row) const {
    return p_.scale == DType::none ? 1.0 : common::read_float(p_.scale, a_.scale.data, row);
  }
  float scaled(std::int64_t row, double product) const { return static_cast<float>(product * scale(row)); }
  void write_out(std::int64_t row, std::int64_t column, double product) const {
    write_float(p_.dtype, a_.out.data, row * out_stride(p_) + column, scaled(row, product));
  }

  float number(const In& in, std::int64_t row, std::int64_t column, std::int64_t bias_column) const {
    const auto x = static_cast<float>(common::read_float(p_.dtype, in.data, row * x_stride(p_) + column));
    if (p_.bias == DType::none) return x;
    const auto bias = static_cast<float>(common::read_float(p_.bias, a_.bias.data, bias_column));
    return static_cast<float>(step(x + bias));
  }

  Element element(std::int64_t row, std::int64_t column) const {
    const Columns at = columns_of(p_, column), of_bias = bias_columns(p_, column);
    Element e{};
    e.a = number(a_.x, row, at.a, of_bias.a);
    e.g = number(is_split(p_) ? a_.gate : a_.x, row, at.g, of_bias.g);
    e.activated = activated(argument(e.a));
    e.gate = gate(e.g);
    e.product = step(e.activated * e.gate);
    return e;
  }

  float argument(float a) const {
    return p_.gating == GluGating::clamped && a > limit_ ? static_cast<float>(limit_) : a;
  }

  static double off(double value, double nudge) {
    if (nudge == 0 || !std::isfinite(value)) return value;
    return value + nudge * std::max(std::abs(value) * 0x1p-14, 0x1p-20);
  }

  double activated(float a) const {
    if (!rounds_steps(p_))
      return step(off(row_.reference(static_cast<double>(a), static_cast<double>(alpha_)), of_activations_));
    return common::with_float(p_.dtype, [&](auto x) {
      using Round = common::RoundTo<std::conditional_t<std::is_same_v<decltype(x), double>, float, decltype(x)>>;
      const float value = p_.activation == Activation::gelu_new
                              ? common::activate<common::Activation::gelu_new>(a, alpha_, Round())
                              : common::activate<common::Activation::gelu_fast>(a, alpha_, Round());
      return step(off(static_cast<double>(value), of_activations_));
    });
  }

  // As PyTorch's clamp: where limits cross, the upper one holds.
  double gate(float g) const {
    if (p_.gating == GluGating::clamped) {
      const double above = g < -limit_ ? -limit_ : static_cast<double>(g);
      return step(static_cast<double>(static_cast<float>(above > limit_ ? limit_ : above) + a_.offset));
    }
    if (p_.gating != GluGating::tanh) return g;
    const auto beta = static_cast<double>(a_.beta);
    return step(off(beta * std::tanh(static_cast<double>(g) / beta), of_gates_));
  }

  // The derivative is the table's formula: a test compares it with differences of the reference.
  double gradient_of_a(float a, double of_factor) const {
    if (p_.gating == GluGating::clamped && !(a <= limit_)) return 0;
    const float slope = row_.derivative(argument(a), alpha_);
    return common::selects_zero(static_cast<common::Activation>(p_.activation)) && slope == 0
               ? 0
               : step(of_factor * off(static_cast<double>(slope), of_activations_));
  }
  double gradient_of_g(float g, double of_factor) const {
    if (p_.gating == GluGating::clamped) return g >= -limit_ && g <= limit_ ? of_factor : 0;
    if (p_.gating != GluGating::tanh) return of_factor;
    const double t = std::tanh(static_cast<double>(g) / static_cast<double>(a_.beta));
    return step(of_factor * off(1 - t * t, of_gates_));
  }

  const Glu& p_;
  const GluArgs& a_;
  const ActivationRow& row_;
  float alpha_;
  double limit_;
  double of_activations_ = 0;
  double of_gates_ = 0;
};

// ---- The sums of gradients

// What each element gives to the sums; zeros in rows that do not count.
std::vector<Parts> write_backward(const Glu& p, const Reference& reference) {
  std::vector<Parts> made(static_cast<std::size_t>(all_rows(p) * p.width));
  parallel_for(all_rows(p), 1 + (1 << 12) / std::max<std::int64_t>(1, p.width),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   for (std::int64_t c = 0; reference.counts(row) && c < p.width; ++c)
                     made[static_cast<std::size_t>(row * p.width + c)] = reference.write_backward(row, c);
                 }
               });
  return made;
}

void write_sums(const Glu& p, const GluArgs& a, const Reference& reference) {
  const std::vector<Parts> made = write_backward(p, reference);
  const auto at = [&](std::int64_t row, std::int64_t c) -> const Parts& {
    return made[static_cast<std::size_t>(row * p.width + c)];
  };
  const auto write_columns = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const Columns to = bias_columns(p, c);
      const auto of_a = [&](std::int64_t row) { return at(row, c).a; };
      const auto of_g = [&](std::int64_t row) { return at(row, c).g; };
      write_float(p.bias_gradient, a.bias_gradient.data, to.a, rows::column_sum(all_rows(p), of_a));
      write_float(p.bias_gradient, a.bias_gradient.data, to.g, rows::column_sum(all_rows(p), of_g));
    }
  };
  if (p.bias_gradient != DType::none) parallel_for(p.width, 16, write_columns);
  const auto write_rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto product = [&](std::int64_t c) { return at(row, c).product; };
      write_float(p.scale, a.scale_gradient.data, row, rows::row_sum(p.width, product));
    }
  };
  if (has_scale_gradient(p)) parallel_for(all_rows(p), 1 + (1 << 16) / std::max<std::int64_t>(1, p.width), write_rows);
}

// A row of what is quantized, each number rounded to the type of x.
std::vector<float> line_at(const Glu& p, const Reference& reference, std::int64_t row) {
  std::vector<float> line(static_cast<std::size_t>(line_of(p)));
  for (std::int64_t c = 0; c < p.width; ++c) {
    if (!is_backward(p)) {
      line[static_cast<std::size_t>(c)] = round_float(p.dtype, reference.out(row, c));
      continue;
    }
    const Columns at = columns_of(p, c);
    const Parts made = reference.gradients(row, c);
    if (has_out(p)) reference.write_forward(row, c);
    line[static_cast<std::size_t>(at.a)] = made.a;
    line[static_cast<std::size_t>(at.g)] = made.g;
  }
  return line;
}

// Of blocked scales: rows after the last, and blocks after the last of a row that counts.
void clear_padding(const Glu& p, const GluArgs& a, const Reference& reference) {
  if (!has_atoms(p)) return;
  const mx::ScaleGrid grid = scale_grid(p);
  auto* const scales = static_cast<std::uint8_t*>(a.scales.data);
  for (std::int64_t row = 0; row < rows_to_do(p); ++row) {
    const bool is_there = row < all_rows(p);
    if (is_there && !reference.counts(row)) continue;
    for (std::int64_t block = is_there ? grid.blocks() : 0; block < mx::round_up_to(grid.blocks(), 4); ++block)
      scales[mx::blocked_index(grid, 0, row, block)] = 0;
  }
}

void quantize_columns(const Glu& p, const GluArgs& a, const Reference& reference) {
  const std::int64_t line = line_of(p);
  std::vector<float> numbers(static_cast<std::size_t>(all_rows(p) * line));
  parallel_for(all_rows(p), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::vector<float> made = line_at(p, reference, row);
      std::copy(made.begin(), made.end(), numbers.begin() + row * line);
    }
  });
  quantize_matrix(p, a, numbers);
}

void quantize(const Glu& p, const GluArgs& a, const Reference& reference) {
  if (has_matrix(p)) return quantize_columns(p, a, reference);
  clear_padding(p, a, reference);
  parallel_for(all_rows(p), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      if (reference.counts(row)) quantize_row(p, a, row, line_at(p, reference, row).data());
    }
  });
}

}  // namespace

// fp32 numbers are not rounded before their scale is made. That, and powers of two of it, have boundaries of few bits.
// Where an activation or its slope cancels, fp32 results have more than the 512 units that differ in a scale: there
// they are off by more than by what they are multiplied with.
static bool rounds_alike(const Glu& p, float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  const float most = (p.gating == GluGating::tanh ? 2.5F : 1.5F) * 0x1p-14F;  // of both factors, or of one
  if (p.dtype == f32 && x != y && !(std::abs(x - y) <= most * std::abs(x))) return false;
  const auto few_bits = [&](float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return p.dtype == f32 ? bits >> 17 : bits;
  };
  return few_bits(x) == few_bits(y);
}

bool is_same_everywhere(const Glu& one, const GluArgs& a) {
  const Reference exact(one, a);
  const bool gates = one.gating == GluGating::tanh;
  for (const int way : {0, 1, 2, 3}) {
    if (way >= 2 && !gates) break;
    const Reference other = exact.nudged(way % 2 == 0 ? -1 : 1, !gates ? 0 : way < 2 ? -1 : 1);
    const float out = round_float(one.dtype, exact.out(0, 0)), other_out = round_float(one.dtype, other.out(0, 0));
    if (has_out(one) && !rounds_alike(one, out, other_out)) return false;
    if (!is_backward(one)) continue;
    const Parts made = exact.gradients(0, 0), other_made = other.gradients(0, 0);
    if (!rounds_alike(one, made.a, other_made.a) || !rounds_alike(one, made.g, other_made.g)) return false;
  }
  return true;
}

// Of gradients in fp32, but for gates with a function of their own.
bool allowance(const Glu& p, const GluArgs& a, int operand, double* of_elements) {
  const bool of_a = operand == kXGradient, of_g = operand == (is_split(p) ? kGateGradient : kXGradient);
  if (p.dtype != f32 || is_quantized(p) || p.gating == GluGating::tanh || !(of_a || of_g)) return false;
  const std::string name = common::kActivationNames[static_cast<int>(p.activation)];
  const int value = expression::find_function(name, 2), slope = expression::find_function(name + "_slope", 2);
  if (value < 0 || slope < 0) return false;
  const Reference reference(p, a);
  parallel_for(
      all_rows(p), 1 + (1 << 10) / std::max<std::int64_t>(1, p.width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          for (std::int64_t c = 0; reference.counts(row) && c < p.width; ++c) {
            const Parts errors =
                reference.gradient_errors(row, c, expression::kFunctions[value], expression::kFunctions[slope]);
            const Columns at = columns_of(p, c);
            double* const line = of_elements + row * x_gradient_stride(p);
            if (of_a) line[at.a] = static_cast<double>(errors.a);
            if (of_g) line[at.g] = static_cast<double>(errors.g);
          }
        }
      });
  return true;
}

void reference(const Glu& p, const GluArgs& a) {
  const Reference reference(p, a);
  if (is_quantized(p)) return quantize(p, a, reference);
  if (has_sums(p)) return write_sums(p, a, reference);
  parallel_for(all_rows(p), 1 + (1 << 14) / std::max<std::int64_t>(1, p.width),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   if (!reference.counts(row)) continue;
                   for (std::int64_t c = 0; c < p.width; ++c) {
                     if (is_backward(p))
                       reference.write_backward(row, c);
                     else
                       reference.write_forward(row, c);
                   }
                 }
               });
}

}  // namespace quern::glu
