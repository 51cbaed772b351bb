#include "glu/checks.h"

#include <algorithm>

#include "common/activation_reference.h"
#include "glu/matrix.h"
#include "glu/quantized.h"
#include "rows/shape.h"

namespace quern::glu {
namespace {

using common::ActivationRow;

bool has_tanh(const Glu& p) { return p.gating == GluGating::tanh; }

bool is_plain(const Glu& p, DType type) { return type == DType::none || type == p.dtype; }

std::string check_pass(const Glu& p) {
  if (is_backward(p)) {
    if (!has_out(p) && p.out_stride != 0) return "out_stride is for pass=forward and recompute=out";
    return {};
  }
  if (p.bias_gradient != DType::none) return "bias_gradient is for pass=backward";
  if (p.recompute != GluRecompute::none) return "recompute is for pass=backward: pass=forward writes out";
  if (p.gradient_stride != 0 || p.x_gradient_stride != 0)
    return "gradient_stride and x_gradient_stride are for pass=backward";
  return {};
}

std::string check_size(const Glu& p) {
  const std::int64_t stride = std::max({x_stride(p), out_stride(p), gradient_stride(p), x_gradient_stride(p)});
  if (!rows::is_too_large({p.groups, p.rows}, stride)) return {};
  return "groups, rows and width are too large: an operand may have 2^46 elements, with its gaps";
}

std::string check_strides(const Glu& p) {
  if (p.out_stride != 0 && p.out_stride < p.width) return "out_stride is below width, so rows of out would overlap";
  if (p.x_gradient_stride != 0 && p.x_gradient_stride < row_elements(p))
    return "x_gradient_stride is below a row of x_gradient, so its rows would overlap";
  return {};
}

// What generated numbers multiply an activation or its derivative with: a gradient, a scale, and a gate with a bias.
constexpr double kMostFactor = 4 * 4 * 8;

// Of a sum of `count` numbers. Some of those of two bytes are rounded the other way.
double sum_slack(const Glu& p, std::int64_t count) {
  const double unit = p.dtype == f32 ? 0 : p.dtype == bf16 ? 0.5 : 0.0625;
  return unit * (1 + static_cast<double>(count) / 64) +
         static_cast<double>(std::max<std::int64_t>(1, count)) * kMostFactor * 0x1p-20;
}

// See generate_arguments. fp32 numbers that differ by some units make scales that do, unless these are powers of two,
// and an element may be off by one.
Tolerance quantized_tolerance(const Glu& p, int operand) {
  if (operand == kBiasGradient && p.dtype == f32 && !is_exact(p))
    return {2, 256 * sum_slack(p, p.rows == kOpen ? 1 : all_rows(p))};  // see generate_numbers
  const bool powers = p.scaling == GluScaling::mx || (p.scaling != GluScaling::tensor && p.mode != ScaleMode::exact);
  if (p.dtype != f32 || is_exact(p) || powers) return {0, 0, true};
  return {operand == kScales || operand == kScalesCol ? 512.0 : 1.0};
}

}  // namespace

std::string check(const Glu& p) {
  if (p.width > kMaxWidth) return "width is too large: a row of out may have 2^29 elements";
  if (p.layout != GluLayout::blocks && p.block != Glu{}.block) return "block is for layout=blocks";
  if (p.layout == GluLayout::blocks && p.width % p.block != 0)
    return "block must divide width, the elements in a row of out";
  if (p.groups != 1 && p.counts == DType::none)
    return "groups is for counts: say counts=i32, or the rows of all groups";
  if (std::string why = check_pass(p); !why.empty()) return why;
  if (p.rounding == Rounding::torch && !(is_plain(p, p.bias) && is_plain(p, p.scale)))
    return "rounding=torch needs a bias and a scale of dtype, as other types are computed in f32: use "
           "rounding=single";
  if (std::string why = check_size(p); !why.empty()) return why;
  if (std::string why = check_strides(p); !why.empty()) return why;
  return check_scaling(p);
}

std::string check_extents(const Glu& p) {
  if (std::string why = check_size(p); !why.empty()) return why;
  return has_matrix(p) ? check_matrix_extents(p) : std::string();
}

bool is_exact(const Glu& p) {
  return common::kActivationRows[static_cast<int>(p.activation)].ulps == 0 && !has_tanh(p);
}

Tolerance tolerance(const Glu& p, int operand) {
  const ActivationRow& row = common::kActivationRows[static_cast<int>(p.activation)];
  const bool narrow = p.dtype != f32;
  if (is_quantized(p) && (narrow || operand != kOut || !is_backward(p))) return quantized_tolerance(p, operand);
  if (is_exact(p)) return {};  // products and sums alone, in one order
  if (operand == kBiasGradient) return {2, sum_slack(p, p.rows == kOpen ? 1 : all_rows(p))};
  if (operand == kScaleGradient) return {2, sum_slack(p, p.width)};
  if (rounds_steps(p) && narrow) return {2, p.dtype == bf16 ? 0x1p-4 : 0x1p-7};
  // Slopes are within 2^-20, in fp32 within some units of 1; eager formulas cancel; denormal factors have few bits.
  const double slope = operand == kOut ? 0x1p-120 : narrow ? 0x1p-20 : 0x1p-22;
  const double factor = is_quantized(p) ? 256 * kMostFactor : kMostFactor;  // see generate_numbers
  const double most = factor * std::max(row.absolute, slope);
  if (!narrow) return {row.ulps + (has_tanh(p) ? 6 : 2), most};
  return p.rounding == Rounding::torch ? Tolerance{2, most} : Tolerance{1, factor * slope};
}

}  // namespace quern::glu
