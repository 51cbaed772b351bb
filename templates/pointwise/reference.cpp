// The plain reference: element by element in the order that Rounding promises, with the activation in double.
#include <algorithm>
#include <type_traits>

#include "base/parallel.h"
#include "common/activation_reference.h"
#include "common/host_types.h"
#include "pointwise/operands.h"

namespace quern::pointwise {
namespace {

using common::ActivationRow;
using common::kActivationRows;

float rounded(DType type, float value) {
  return common::with_float(type, [&](auto x) {
    using T = decltype(x);
    return static_cast<float>(common::to_compute(common::from_compute<T>(static_cast<common::ComputeOf<T>>(value))));
  });
}

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

 private:
  static float at(const In& in, DType dtype, Spread spread, std::int64_t stride, std::int64_t r, std::int64_t c) {
    const std::int64_t offset = spread == Spread::full     ? r * stride + c
                                : spread == Spread::row    ? c
                                : spread == Spread::column ? r
                                                           : 0;
    return static_cast<float>(common::read_float(dtype, in.data, offset));
  }

  float pre_activation(std::int64_t r, std::int64_t c) const {
    const bool torch = p_.rounding == Rounding::torch;
    float z = at(a_.x, p_.dtype, p_.x_spread, stride(p_, p_.x_stride), r, c);
    if (has_y(p_)) {
      const float y = at(a_.y, y_dtype(p_), p_.y_spread, stride(p_, p_.y_stride), r, c);
      z = torch ? rounded(sum_dtype(p_), z + rounded(y_dtype(p_), a_.multiplier * y)) : std::fma(a_.multiplier, y, z);
    }
    if (!has_bias(p_)) return z;
    z += at(a_.bias, bias_dtype(p_), p_.bias_spread, p_.width, r, c);
    return torch ? rounded(biased_dtype(p_), z) : z;
  }

  double activated(float z) const {
    const ActivationRow& row = kActivationRows[static_cast<int>(p_.activation)];
    if (rounds_steps(p_)) return rounded_steps(z);
    const double exact = row.reference(static_cast<double>(z), static_cast<double>(alpha_));
    return p_.rounding == Rounding::torch ? rounded(biased_dtype(p_), static_cast<float>(exact)) : exact;
  }

  // The table's formula itself, since the rounding of its steps is the subject here.
  double rounded_steps(float z) const {
    return common::with_float(biased_dtype(p_), [&](auto x) {
      using Round = common::RoundTo<std::conditional_t<std::is_same_v<decltype(x), double>, float, decltype(x)>>;
      const float value = p_.activation == Activation::gelu_new
                              ? common::activate<common::Activation::gelu_new>(z, alpha_, Round())
                              : common::activate<common::Activation::gelu_fast>(z, alpha_, Round());
      return static_cast<double>(rounded(biased_dtype(p_), value));
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

}  // namespace

void reference(const Pointwise& p, const PointwiseArgs& a) {
  const Reference reference(p, a);
  parallel_for(p.rows, 1 + (1 << 16) / std::max<std::int64_t>(1, p.width),
               [&](std::int64_t begin, std::int64_t end) { reference.rows(begin, end); });
}

}  // namespace quern::pointwise
