// The tensors of a problem of rope: their shapes and strides. Host code.
#ifndef QUERN_ROPE_TENSORS_H_
#define QUERN_ROPE_TENSORS_H_

#include "rope/params.h"
#include "rope/problem.h"

namespace quern::rope {

// Whether the problem has such a tensor.
inline bool has_tensor(const Rope& p, int tensor) {
  return tensor == kTensorQ || (tensor == kTensorK ? p.kv_heads > 0 : has_values(p));
}
inline bool is_in_place(const Rope& p, int tensor) {
  return is_in_place(p) && (tensor == kTensorQ || (tensor == kTensorK && !has_cache(p)));
}

inline bool is_quantized(const Rope& p, int tensor) {
  return is_quantized(p) && has_tensor(p, tensor) && (tensor != kTensorQ || p.quantized == RopeQuantized::all);
}
inline DType output_type(const Rope& p, int tensor) { return is_quantized(p, tensor) ? p.element : p.dtype; }
inline const void* scale_of(const RopeArgs& a, int tensor) {
  return tensor == kTensorQ ? a.q_scale.data : tensor == kTensorK ? a.k_scale.data : a.v_scale.data;
}

inline void* scales_of(const RopeArgs& a, int tensor) {
  return tensor == kTensorQ ? a.q_scales.data : tensor == kTensorK ? a.k_scales.data : a.v_scales.data;
}
inline DType scale_type(const Rope& p) { return has_fp32_scales(p) ? f32 : e8m0; }

// Whether queries with the same key are a group, with a distance of its own between groups.
inline bool is_grouped(const Rope& p) { return p.q_strides.count == 4 || p.q_out_strides.count == 4; }
inline std::int64_t heads_of(const Rope& p, int tensor) { return tensor == kTensorQ ? p.heads : p.kv_heads; }

// The axes of a tensor in the order of its fields, which is that of its strides. A cache's batches are pages. Without
// groups there is one group.
enum Axis { kBatch, kToken, kHead, kGroup, kAxisCount };
struct Extents {
  std::int64_t of[kAxisCount];
};
inline Extents extents_of(const Rope& p, int tensor, std::int64_t outer, std::int64_t tokens) {
  if (tensor == kTensorQ && is_grouped(p)) return {{outer, tokens, p.heads / p.kv_heads, p.kv_heads}};
  return {{outer, tokens, heads_of(p, tensor), 1}};
}
inline Extents input_extents(const Rope& p, int tensor) { return extents_of(p, tensor, batches(p), p.seq); }
inline Extents output_extents(const Rope& p, int tensor) {
  if (tensor == kTensorQ || !has_cache(p)) return input_extents(p, tensor);
  return extents_of(p, tensor, p.cache == RopeCache::positions ? p.batch : p.cache_pages, p.page_size);
}

// Which of the axes varies fastest in memory, and so on. Strides do not change it.
struct AxisOrder {
  Axis axis[3];
  int number(Axis a) const { return axis[0] == a ? 0 : axis[1] == a ? 1 : 2; }
};
inline AxisOrder axis_order(const Rope& p) {
  if (p.layout == RopeLayout::sbhd) return {{kHead, kBatch, kToken}};
  if (p.layout == RopeLayout::bhsd) return {{kToken, kHead, kBatch}};
  return {{kHead, kToken, kBatch}};
}

// In elements, by Axis.
struct Strides {
  std::int64_t of[kAxisCount];
};
// `width`: elements of a head.
inline Strides strides_of(const Rope& p, const Extents& extents, const List<4>& given, std::int64_t width) {
  Strides strides{};
  if (given.count == 0) {
    const AxisOrder order = axis_order(p);
    const auto length = [&](Axis a) { return a == kHead ? extents.of[kHead] * extents.of[kGroup] : extents.of[a]; };
    strides.of[order.axis[0]] = width;
    strides.of[order.axis[1]] = width * length(order.axis[0]);
    strides.of[order.axis[2]] = strides.of[order.axis[1]] * length(order.axis[1]);
  }
  for (int i = 0; i < given.count; ++i) strides.of[i] = given[i];
  if (given.count < 4) strides.of[kGroup] = strides.of[kHead] * extents.of[kHead];
  return strides;
}

// The strides that a problem gives.
inline const List<4>& given_input_strides(const Rope& p, int tensor) {
  return tensor == kTensorQ ? p.q_strides : tensor == kTensorK ? p.k_strides : p.v_strides;
}
inline const List<4>& given_output_strides(const Rope& p, int tensor) {
  return tensor == kTensorQ ? p.q_out_strides : tensor == kTensorK ? p.k_out_strides : p.v_out_strides;
}
inline Strides output_strides(const Rope& p, int tensor) {
  return strides_of(p, output_extents(p, tensor), given_output_strides(p, tensor), p.head_dim);
}
// Of scales that are made; those of heads in groups are numbered through all groups.
inline Strides scale_strides(const Rope& p, int tensor) {
  return strides_of(p, output_extents(p, tensor), {}, scales_of_head(p));
}
inline Strides input_strides(const Rope& p, int tensor) {
  if (is_in_place(p, tensor)) return output_strides(p, tensor);
  return strides_of(p, input_extents(p, tensor), given_input_strides(p, tensor), p.head_dim);
}

// The operands of a launch.
inline void* output_of(const Rope& p, const RopeArgs& a, int tensor) {
  if (!has_tensor(p, tensor)) return nullptr;
  return tensor == kTensorQ ? a.q_out.data : tensor == kTensorK ? a.k_out.data : a.v_out.data;
}
inline const void* input_of(const Rope& p, const RopeArgs& a, int tensor) {
  if (is_in_place(p, tensor)) return output_of(p, a, tensor);
  if (!has_tensor(p, tensor)) return nullptr;
  return tensor == kTensorQ ? a.q.data : tensor == kTensorK ? a.k.data : a.v.data;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_TENSORS_H_
