// Results in fp8 on the host: which numbers share a scale, and where scales are.
#ifndef QUERN_GLU_QUANTIZED_H_
#define QUERN_GLU_QUANTIZED_H_

#include <cstdint>
#include <string>

#include "glu/operands.h"
#include "mx/block_scale.h"
#include "mx/scales.h"
#include "quern/spec.h"

namespace quern::glu {

// With scaling=tensor 0: the scale is given.
inline std::int64_t block_length(const Glu& p) {
  return p.scaling == GluScaling::mx ? 32 : p.scaling == GluScaling::block128 ? 128 : 0;
}
inline bool has_blocks(const Glu& p) { return block_length(p) != 0; }
inline bool has_fp32_scales(const Glu& p) { return p.scaling != GluScaling::mx; }

// Elements of out whose numbers are a block.
inline std::int64_t elements_of_block(const Glu& p) {
  const bool pairs = is_backward(p) && p.layout == GluLayout::interleaved;
  return block_length(p) / (pairs ? 2 : 1);
}

// Numbers of a row of what is quantized.
inline std::int64_t line_of(const Glu& p) { return is_backward(p) ? row_elements(p) : p.width; }
inline mx::ScaleGrid scale_grid(const Glu& p) {
  const std::int64_t length = has_blocks(p) ? block_length(p) : std::max<std::int64_t>(1, line_of(p));
  return {1, all_rows(p), line_of(p), false, length, false, 0, false, has_fp32_scales(p) ? f32 : e8m0};
}
inline bool has_atoms(const Glu& p) { return p.scale_layout == MxScaleLayout::blocked; }

// Rows and elements of out that threads are there for: those of blocked scales' padding too.
inline std::int64_t rows_to_do(const Glu& p) { return has_atoms(p) ? mx::round_up_to(all_rows(p), 128) : all_rows(p); }
inline std::int64_t columns_to_do(const Glu& p) {
  if (!has_blocks(p)) return p.width;
  const std::int64_t blocks = scale_grid(p).blocks(), there = has_atoms(p) ? mx::round_up_to(blocks, 4) : blocks;
  const bool parts = is_backward(p) && p.layout != GluLayout::interleaved;  // a block has a or g
  return parts ? p.width + (there - blocks) * block_length(p) : there * elements_of_block(p);
}

inline Layout given_scale_layout(const Glu& p) {
  return p.scaling == GluScaling::tensor ? Layout::list(f32, 1) : Layout{};
}
inline Layout scales_layout(const Glu& p) {
  if (!is_quantized(p) || p.scaling == GluScaling::tensor) return {};
  if (has_atoms(p)) return mx::blocked_layout(scale_grid(p));
  const std::int64_t scales = p.scaling == GluScaling::row ? 1 : scale_grid(p).blocks();
  return Layout::matrix(has_fp32_scales(p) ? f32 : e8m0, all_rows(p), scales, scales);
}

// The rules between the fields.
std::string check_scaling(const Glu& p);

void specialize_scaling(const Glu& p, Spec& spec);

// Quantizes the numbers of a row. `scales`: of all rows; blocked ones were cleared.
void quantize_row(const Glu& p, const GluArgs& a, std::int64_t row, const float* numbers);

}  // namespace quern::glu

#endif  // QUERN_GLU_QUANTIZED_H_
