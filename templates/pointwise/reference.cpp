// The plain reference: element by element in the order that Rounding promises, with the activation in double.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "common/activation_reference.h"
#include "common/host_types.h"
#include "expression/error_bound.h"
#include "pointwise/backward.h"
#include "rows/sums_reference.h"

namespace quern::pointwise {
namespace {

using common::ActivationRow;
using common::kActivationRows;
using common::round_float;
using common::write_float;

class Reference {
 public:
  Reference(const Pointwise& problem, const PointwiseArgs& args)
      : p_(problem), a_(args), alpha_(common::alpha_or_default(static_cast<int>(problem.activation), args.alpha)) {}

  void rows(std::int64_t begin, std::int64_t end) const {
    common::with_float(out_dtype(p_), [&](auto x) {
      using T = decltype(x);
      T* out = static_cast<T*>(a_.out.data);
      for (std::int64_t r = begin; r < end; ++r) {
        for (std::int64_t c = 0; c < p_.width; ++c)
          out[r * stride(p_, p_.out_stride) + c] = nearest<T>(activated(pre_activation(r, c)));
      }
    });
  }

  // Of x, as it is stored; that of y is written too.
  float write_gradients(std::int64_t r, std::int64_t c) const {
    const ActivationRow& row = kActivationRows[static_cast<int>(p_.activation)];
    const float z = pre_activation(r, c), slope = row.derivative(z, alpha_);
    const float gradient = gradient_at(r, c);
    const bool zero = slope == 0 && common::selects_zero(static_cast<common::Activation>(p_.activation));
    const bool torch = p_.rounding == Rounding::torch;
    const float product = zero ? 0 : gradient * slope;
    const float of_z = torch ? round_float(biased_dtype(p_), product) : product;
    write_float(p_.dtype, a_.x_gradient.data, r * stride(p_, p_.x_stride) + c, of_z);
    if (has_y(p_)) {
      const float of_y = a_.multiplier * (torch ? round_float(y_dtype(p_), of_z) : of_z);
      write_float(y_dtype(p_), a_.y_gradient.data, r * stride(p_, p_.y_stride) + c, of_y);
    }
    return round_float(p_.dtype, of_z);
  }

  // How far another device's gradient of an operand may be, which is `factor` times that of the sum. `function`
  // computes the slope.
  double gradient_error(const expression::Function& function, DType dtype, double factor, std::int64_t r,
                        std::int64_t c) const {
    const auto z = static_cast<double>(pre_activation(r, c));
    const double of_out = std::abs(static_cast<double>(gradient_at(r, c)));
    const double off = of_out * expression::formula_error(function, z, static_cast<double>(alpha_), 0);
    const double made = of_out * std::abs(function.reference(z, static_cast<double>(alpha_), 0));
    const auto stored = [&](double x) { return round_float(dtype, factor * x); };
    return expression::change(stored, made, off + made * 0x1p-23);
  }

  float y_at(std::int64_t r, std::int64_t c) const {
    return at(a_.y, y_dtype(p_), Spread::full, stride(p_, p_.y_stride), r, c);
  }

 private:
  static float at(const In& in, DType dtype, Spread spread, std::int64_t stride, std::int64_t r, std::int64_t c) {
    const std::int64_t offset = spread == Spread::full     ? r * stride + c
                                : spread == Spread::row    ? c
                                : spread == Spread::column ? r
                                                           : 0;
    return static_cast<float>(common::read_float(dtype, in.data, offset));
  }

  // Of the activation's result.
  float gradient_at(std::int64_t r, std::int64_t c) const {
    const float of_out = at(a_.gradient, out_dtype(p_), Spread::full, stride(p_, p_.out_stride), r, c);
    return p_.rounding == Rounding::torch ? round_float(biased_dtype(p_), of_out) : of_out;
  }

  float pre_activation(std::int64_t r, std::int64_t c) const {
    const bool torch = p_.rounding == Rounding::torch;
    float z = at(a_.x, p_.dtype, p_.x_spread, stride(p_, p_.x_stride), r, c);
    if (has_y(p_)) {
      const float y = at(a_.y, y_dtype(p_), p_.y_spread, stride(p_, p_.y_stride), r, c);
      z = torch ? round_float(sum_dtype(p_), z + round_float(y_dtype(p_), a_.multiplier * y))
                : std::fma(a_.multiplier, y, z);
    }
    if (!has_bias(p_)) return z;
    z += at(a_.bias, bias_dtype(p_), p_.bias_spread, p_.width, r, c);
    return torch ? round_float(biased_dtype(p_), z) : z;
  }

  double activated(float z) const {
    const ActivationRow& row = kActivationRows[static_cast<int>(p_.activation)];
    if (rounds_steps(p_)) return rounded_steps(z);
    const double exact = row.reference(static_cast<double>(z), static_cast<double>(alpha_));
    return p_.rounding == Rounding::torch ? round_float(biased_dtype(p_), static_cast<float>(exact)) : exact;
  }

  // The table's formula itself, since the rounding of its steps is the subject here.
  double rounded_steps(float z) const {
    return common::with_float(biased_dtype(p_), [&](auto x) {
      using Round = common::RoundTo<std::conditional_t<std::is_same_v<decltype(x), double>, float, decltype(x)>>;
      const float value = p_.activation == Activation::gelu_new
                              ? common::activate<common::Activation::gelu_new>(z, alpha_, Round())
                              : common::activate<common::Activation::gelu_fast>(z, alpha_, Round());
      return static_cast<double>(round_float(biased_dtype(p_), value));
    });
  }

  template <class T>
  static T nearest(double value) {
    return common::from_compute<T>(static_cast<common::ComputeOf<T>>(value));
  }

  const Pointwise& p_;
  const PointwiseArgs& a_;
  float alpha_;
};

// The gradients of x, row by row.
std::vector<float> write_gradients(const Pointwise& p, const Reference& reference) {
  std::vector<float> made(static_cast<std::size_t>(p.rows * p.width));
  parallel_for(p.rows, 1 + (1 << 14) / std::max<std::int64_t>(1, p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < p.width; ++c)
        made[static_cast<std::size_t>(r * p.width + c)] = reference.write_gradients(r, c);
    }
  });
  return made;
}

}  // namespace

void backward::reference(const Pointwise& p, const PointwiseArgs& a) {
  const Reference reference(p, a);
  const std::vector<float> made = write_gradients(p, reference);
  const auto of_x = [&](std::int64_t r, std::int64_t c) { return made[static_cast<std::size_t>(r * p.width + c)]; };
  const auto write_columns = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const float sum = rows::column_sum(p.rows, [&](std::int64_t r) { return of_x(r, c); });
      write_float(p.bias_gradient, a.bias_gradient.data, c, sum);
    }
  };
  if (p.bias_gradient != DType::none) parallel_for(p.width, 16, write_columns);
  if (p.multiplier_gradient == DType::none) return;
  const auto product = [&](std::int64_t r, std::int64_t c) { return of_x(r, c) * reference.y_at(r, c); };
  *static_cast<float*>(a.multiplier_gradient.data) = rows::total_sum(p.rows, p.width, product);
}

// Of the gradients of operands. Where eager steps are rounded, a rounding that is otherwise is more than that.
bool backward::allowance(const Pointwise& p, const PointwiseArgs& a, std::string_view operand, double* of_elements) {
  const bool of_x = operand == "x_gradient";
  if (!of_x && operand != "y_gradient") return false;
  if (p.rounding == Rounding::torch && biased_dtype(p) != f32) return false;
  const std::string name = cat(common::kActivationNames[static_cast<int>(p.activation)], "_slope");
  const int row = expression::find_function(name, 2);
  if (row < 0) return false;
  const expression::Function& function = expression::kFunctions[row];
  const Reference reference(p, a);
  const std::int64_t step = stride(p, of_x ? p.x_stride : p.y_stride);
  const double factor = of_x ? 1 : std::abs(static_cast<double>(a.multiplier));
  const DType dtype = of_x ? p.dtype : y_dtype(p);
  parallel_for(p.rows, 1 + (1 << 10) / std::max<std::int64_t>(1, p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < p.width; ++c)
        of_elements[r * step + c] = reference.gradient_error(function, dtype, factor, r, c);
    }
  });
  return true;
}

void reference(const Pointwise& p, const PointwiseArgs& a) {
  const Reference reference(p, a);
  parallel_for(p.rows, 1 + (1 << 16) / std::max<std::int64_t>(1, p.width),
               [&](std::int64_t begin, std::int64_t end) { reference.rows(begin, end); });
}

}  // namespace quern::pointwise
