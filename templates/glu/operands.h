// The operands of a problem on the host: which there are, and their memory.
#ifndef QUERN_GLU_OPERANDS_H_
#define QUERN_GLU_OPERANDS_H_

#include <algorithm>
#include <cstdint>

#include "common/geometry.h"
#include "glu/glu.h"
#include "glu/params.h"
#include "glu/places.cuh"
#include "rows/sums.h"

namespace quern::glu {

inline bool is_backward(const Glu& p) { return p.pass == GluPass::backward; }
inline bool is_split(const Glu& p) { return p.layout == GluLayout::split; }
inline bool has_scale_gradient(const Glu& p) { return is_backward(p) && p.scale != DType::none; }
inline bool is_quantized(const Glu& p) { return p.scaling != GluScaling::none; }
inline bool has_columns(const Glu& p) { return p.direction != GluDirection::row; }
// Whether mxfp8's tiles make the results: quantized along columns or both ways, or along rows together with the bias
// gradient.
inline bool has_matrix(const Glu& p) { return has_columns(p) || (is_quantized(p) && p.bias_gradient != DType::none); }
inline bool has_sums(const Glu& p) {
  return !has_matrix(p) && (p.bias_gradient != DType::none || has_scale_gradient(p));
}
inline bool has_out(const Glu& p) { return !is_backward(p) || p.recompute == GluRecompute::out; }

inline DType out_dtype(const Glu& p) { return is_quantized(p) && !is_backward(p) ? p.element : p.dtype; }
inline DType x_gradient_dtype(const Glu& p) { return is_quantized(p) ? p.element : p.dtype; }

// Elements in a row of x.
inline std::int64_t row_elements(const Glu& p) { return is_split(p) ? p.width : 2 * p.width; }
inline std::int64_t all_rows(const Glu& p) { return p.rows == kOpen ? kOpen : p.groups * p.rows; }

inline std::int64_t or_packed(std::int64_t stride, std::int64_t elements) { return stride == 0 ? elements : stride; }
inline std::int64_t x_stride(const Glu& p) { return or_packed(p.x_stride, row_elements(p)); }
inline std::int64_t out_stride(const Glu& p) { return or_packed(p.out_stride, p.width); }
inline std::int64_t gradient_stride(const Glu& p) { return or_packed(p.gradient_stride, p.width); }
inline std::int64_t x_gradient_stride(const Glu& p) { return or_packed(p.x_gradient_stride, row_elements(p)); }

inline Columns columns_of(const Glu& p, std::int64_t column) {
  return columns_of(p.layout, static_cast<int>(p.block), static_cast<int>(p.width), static_cast<int>(column));
}
inline Columns bias_columns(const Glu& p, std::int64_t column) {
  return bias_columns(p.layout, static_cast<int>(p.block), static_cast<int>(p.width), static_cast<int>(column));
}

// Of columns of a and of g, and of rows.
inline rows::SumsOf sums_of(const Glu& p) {
  return {all_rows(p), p.width, p.bias_gradient != DType::none ? 2 : 0, has_scale_gradient(p), false};
}

inline Layout x_matrix(const Glu& p, bool present, DType type, std::int64_t stride) {
  return present ? Layout::matrix(type, all_rows(p), row_elements(p), stride) : Layout{};
}
inline Layout out_matrix(const Glu& p, bool present, DType type, std::int64_t stride) {
  return present ? Layout::matrix(type, all_rows(p), p.width, stride) : Layout{};
}
inline Layout list_of(DType type, std::int64_t count) {
  return type == DType::none ? Layout{} : Layout::list(type, count);
}

inline Layout x_layout(const Glu& p) { return x_matrix(p, true, p.dtype, x_stride(p)); }
inline Layout gate_layout(const Glu& p) { return x_matrix(p, is_split(p), p.dtype, x_stride(p)); }
inline Layout bias_layout(const Glu& p) { return list_of(p.bias, 2 * p.width); }
inline Layout scale_layout(const Glu& p) { return list_of(p.scale, all_rows(p)); }
inline Layout counts_layout(const Glu& p) { return list_of(p.counts, p.groups); }
inline Layout gradient_layout(const Glu& p) { return out_matrix(p, is_backward(p), p.dtype, gradient_stride(p)); }
inline Layout out_layout(const Glu& p) { return out_matrix(p, has_out(p), out_dtype(p), out_stride(p)); }
inline Layout x_gradient_layout(const Glu& p) {
  return x_matrix(p, is_backward(p), x_gradient_dtype(p), x_gradient_stride(p));
}
inline Layout gate_gradient_layout(const Glu& p) {
  return x_matrix(p, is_backward(p) && is_split(p), p.dtype, x_gradient_stride(p));
}
inline Layout bias_gradient_layout(const Glu& p) { return list_of(p.bias_gradient, 2 * p.width); }
inline Layout scale_gradient_layout(const Glu& p) {
  return list_of(has_scale_gradient(p) ? p.scale : DType::none, all_rows(p));
}
inline Layout workspace_layout(const Glu& p) {
  if (!has_sums(p)) return {};
  return Layout::list(i32, p.rows == kOpen ? kOpen : rows::sums_workspace(sums_of(p)).words);
}

// Whether a problem with one row of one element has the same results on every device, though activations differ in
// their last bits. x, gradient, bias and scale are on the host.
bool is_same_everywhere(const Glu& one, const GluArgs& a);

// The plain reference.
void reference(const Glu& p, const GluArgs& a);
bool allowance(const Glu& p, const GluArgs& a, int operand, double* of_elements);

// Frameworks that have these two activations round every step of them.
inline bool rounds_steps(const Glu& p) {
  return p.rounding == Rounding::torch &&
         (p.activation == Activation::gelu_new || p.activation == Activation::gelu_fast);
}

}  // namespace quern::glu

#endif  // QUERN_GLU_OPERANDS_H_
