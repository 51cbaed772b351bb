// The memory of mxfp8's operands; dtype none if a problem does not have the operand.
#ifndef QUERN_MXFP8_OPERANDS_H_
#define QUERN_MXFP8_OPERANDS_H_

#include "mxfp8/bias.h"
#include "mxfp8/matrix.h"

namespace quern::mxfp8 {

inline Layout source_layout(const Mxfp8& p) {
  if (has_matrices(p)) return Layout::list(p.dtype, most_elements(p));
  return mx::strided_layout(p.dtype, source_of(p));
}
inline Layout input_layout(const Mxfp8& p) {
  return has_input(p) ? experts_layout(p.dtype, p.experts, p.rows, p.cols) : Layout{};
}
inline Layout out_layout(const Mxfp8& p) { return elements_layout(p, !row_made(p)); }
inline Layout own_scales_layout(const Mxfp8& p) { return scales_layout(p, !row_made(p)); }
inline Layout out_col_layout(const Mxfp8& p) { return both_made(p) ? elements_layout(p, true) : Layout{}; }
inline Layout scales_col_layout(const Mxfp8& p) { return both_made(p) ? scales_layout(p, true) : Layout{}; }
inline Layout bias_gradient_layout(const Mxfp8& p) {
  return has_sums(p) ? Layout::matrix(f32, p.experts, p.cols, p.cols) : Layout{};
}
inline Layout workspace_layout(const Mxfp8& p) { return has_sums(p) ? bias_workspace_layout(p) : Layout{}; }

// Operands on the device that control the launch: the ends of groups, if there are any, and the no-op flag.
inline Layout offsets_layout(const Mxfp8& p) {
  return p.groups == 0 || p.varying == Mxfp8Varying::cols ? Layout{} : Layout::list(p.offset, p.groups);
}
inline Layout col_offsets_layout(const Mxfp8& p) {
  return has_matrices(p) ? Layout::list(p.offset, p.groups) : Layout{};
}
inline Layout status_layout(const Mxfp8& p) { return p.groups == 0 ? Layout{} : Layout::list(i32, 1); }
inline Layout given_scale_layout(const Mxfp8& p) { return has_given_scale(p) ? Layout::list(f32, 1) : Layout{}; }
inline Layout noop_layout(const Mxfp8& p) { return p.noop == Mxfp8Noop::never ? Layout{} : Layout::list(f32, 1); }

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_OPERANDS_H_
