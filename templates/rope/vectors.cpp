#include "rope/vectors.h"

#include "common/geometry.h"
#include "rope/tensors.h"

namespace quern::rope {
namespace {

// What of `vector` divides strides. That of an axis with one index is never used, as that of the batches of thd.
std::int64_t dividing(const List<4>& strides, const Extents& extents, std::int64_t size, std::int64_t vector) {
  for (int i = 0; i < strides.count; ++i) {
    const bool counts_groups = i == kHead && strides.count == 3;  // groups without a stride have that of heads
    if (extents.of[i] * (counts_groups ? extents.of[kGroup] : 1) != 1)
      vector = common::common_alignment({strides[i] * size}, vector);
  }
  return vector;
}

bool has_strides(const Rope& p, int tensor) {
  return given_input_strides(p, tensor).count + given_output_strides(p, tensor).count != 0;
}

// Bytes of the rows along the fastest axis, of a tensor without strides. Images know no number of tokens.
std::int64_t line_bytes(const Rope& p, int tensor) {
  return p.head_dim * bytes(p.dtype) * (axis_order(p).axis[0] == kHead ? heads_of(p, tensor) : 1);
}

// Of the strides of one tensor's input or output, except that of the fastest axis.
std::int64_t dividing_lines(const Rope& p, int tensor, const List<4>& strides, std::int64_t vector) {
  if (strides.count == 0) return common::common_alignment({line_bytes(p, tensor)}, vector);
  List<4> outer = strides;
  outer.values[axis_order(p).axis[0]] = 0;
  return dividing(outer, input_extents(p, tensor), bytes(p.dtype), vector);
}

}  // namespace

std::int64_t natural_vector(const Rope& p, std::int64_t limit) {
  const std::int64_t size = bytes(p.dtype), rotated = is_interleaved(p) ? rotary_dim(p) : rotary_dim(p) / 2;
  const std::int64_t after = p.head_dim - rotary_dim(p) - p.rotary_offset;
  std::int64_t vector =
      common::common_alignment({rotated * size, p.rotary_offset * size, after * size, p.head_dim * size}, limit);
  for (int i = 0; i < p.sections.count && is_apart(p); ++i)
    vector = common::common_alignment({p.sections[i] * size * (is_interleaved(p) ? 2 : 1)}, vector);
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    vector = dividing(given_input_strides(p, tensor), input_extents(p, tensor), size, vector);
    vector = dividing(given_output_strides(p, tensor), output_extents(p, tensor), size, vector);
  }
  return vector;
}

std::int64_t run_vector(const Rope& p, std::int64_t limit) {
  std::int64_t vector = limit;
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    if (!has_strides(p, tensor)) continue;
    if (!is_in_place(p, tensor)) vector = dividing_lines(p, tensor, given_input_strides(p, tensor), vector);
    vector = dividing_lines(p, tensor, given_output_strides(p, tensor), vector);
  }
  return vector;
}

bool has_adjacent_rows(const Rope& p) {
  const Axis fastest = axis_order(p).axis[0];
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    const List<4>&in = given_input_strides(p, tensor), &out = given_output_strides(p, tensor);
    if (in.count != 0 && in[fastest] != p.head_dim) return false;
    if (out.count != 0 && out[fastest] != p.head_dim) return false;
  }
  return true;
}

bool has_no_strides(const Rope& p) {
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    if (has_strides(p, tensor)) return false;
  }
  return true;
}

}  // namespace quern::rope
