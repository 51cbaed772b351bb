// Results quantized along columns, along rows and columns, or along rows beside a bias gradient, by mxfp8's tiles: the
// same problem for mxfp8, whose matrix is out, backward x_gradient. Host code.
#ifndef QUERN_GLU_MATRIX_H_
#define QUERN_GLU_MATRIX_H_

#include <string>
#include <vector>

#include "glu/space.h"
#include "mxfp8/operands.h"

namespace quern::glu {

Mxfp8 as_mxfp8(const Glu& p);

// Whether a launch says how many rows there are, and whether they are then whole blocks of scales.
bool has_open_rows(const Glu& p);
bool rows_are_whole(const Glu& p);

// The rules of direction=col and both, and of a scaling beside a bias gradient, and those of them that an extent can
// break.
std::string check_matrix(const Glu& p);
std::string check_matrix_extents(const Glu& p);

// `whole`: for launches whose rows are whole blocks.
Config matrix_default(const Glu& p, const Target& target, const DeviceModel& model, bool whole);
// The same for every address.
Config matrix_of_elements(const Glu& p, Config config);

// Constraints.
bool form_has_direction(const Glu& p, const Target&, const Config& c);
bool tile_vector_divides(const Glu& p, const Target& target, const Config& c);
bool tile_fits(const Glu& p, const Target& target, const Config& c);
bool cluster_fits(const Glu& p, const Target& target, const Config& c);
bool copies_fit(const Glu& p, const Target& target, const Config& c);
bool blocks_are_whole(const Glu& p, const Target&, const Config& c);
bool resident_blocks_fit(const Glu& p, const Target& target, const Config& c);

std::uint32_t matrix_alignment(const Glu& p, const Config& c);
// Numbers of a vector, and the elements that they are made of.
std::int64_t vector_elements(const Glu& p, const Config& c);

void specialize_matrix(const Glu& p, const Config& c, Spec& spec);
// Returns the part of the kernel's parameter that is glu's own, which is not set.
Params& launch_matrix(const Glu& p, const GluArgs& a, const Config& c, Launch& launch);

// Quantizes `numbers`, the whole matrix in fp32, each rounded to dtype.
void quantize_matrix(const Glu& p, const GluArgs& a, const std::vector<float>& numbers);

// ---- Memory

inline Layout columns_layout(const Glu& p, bool present, Layout (*layout)(const Mxfp8&)) {
  return present && has_columns(p) ? layout(as_mxfp8(p)) : Layout{};
}
inline Layout stored_out_layout(const Glu& p) {
  return has_columns(p) ? columns_layout(p, !is_backward(p), mxfp8::out_layout) : out_layout(p);
}
inline Layout stored_x_gradient_layout(const Glu& p) {
  return has_columns(p) ? columns_layout(p, is_backward(p), mxfp8::out_layout) : x_gradient_layout(p);
}
inline Layout stored_scales_layout(const Glu& p) {
  return has_columns(p) ? mxfp8::own_scales_layout(as_mxfp8(p)) : scales_layout(p);
}
inline Layout stored_workspace_layout(const Glu& p) {
  return has_matrix(p) ? mxfp8::workspace_layout(as_mxfp8(p)) : workspace_layout(p);
}
inline Layout out_col_layout(const Glu& p) { return columns_layout(p, !is_backward(p), mxfp8::out_col_layout); }
inline Layout x_gradient_col_layout(const Glu& p) { return columns_layout(p, is_backward(p), mxfp8::out_col_layout); }
inline Layout scales_col_layout(const Glu& p) { return columns_layout(p, true, mxfp8::scales_col_layout); }

}  // namespace quern::glu

#endif  // QUERN_GLU_MATRIX_H_
