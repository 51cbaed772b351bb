#include "glu/quantized.h"

#include <cstring>

#include "common/host_types.h"
#include "glu/choice_names.h"
#include "glu/matrix.h"

namespace quern::glu {
namespace {

std::string check_scales(const Glu& p) {
  if (p.scaling == GluScaling::mx)
    return p.mode == ScaleMode::exact ? "mode=exact is for fp32 scales: scaling=block128 or scaling=row" : "";
  if (p.policy != ScalePolicy::ao) return "policy=te goes with scaling=mx";
  if (has_atoms(p)) return "scale_layout=blocked goes with scaling=mx; fp32 scales are plain";
  if (p.scaling == GluScaling::tensor && p.mode != ScaleMode::rceil)
    return "mode is for scales that are made; scaling=tensor takes given_scale, and the default, mode=rceil";
  return {};
}

// Blocks of a and of g: they begin where these do.
std::string check_parts(const Glu& p) {
  if (!is_backward(p)) return {};
  if (is_split(p))
    return "pass=backward with a scaling makes one output: use another layout than split, or scaling=none";
  if (!has_blocks(p) || p.layout == GluLayout::interleaved || p.direction == GluDirection::col) return {};
  const std::int64_t part = p.layout == GluLayout::blocks ? p.block : p.width;
  if (part % block_length(p) == 0) return {};
  return std::string(p.layout == GluLayout::blocks ? "block" : "width") + " must be a multiple of " +
         std::to_string(block_length(p)) + ", the numbers that share a scale, where gradients are quantized";
}

mx::BlockScale scale_of(const Glu& p, const GluArgs& a, const float* numbers, std::int64_t count) {
  if (p.scaling == GluScaling::tensor) return mx::fp32_scale(*static_cast<const float*>(a.given_scale.data));
  float amax = 0;
  for (std::int64_t i = 0; i < count; ++i) amax = mx::larger_magnitude(p.policy, amax, numbers[i]);
  return mx::scale_of_block({p.element, p.mode, p.policy, has_fp32_scales(p)}, amax);
}

void put_scale(const Glu& p, const GluArgs& a, std::int64_t row, std::int64_t block, const mx::BlockScale& scale) {
  const mx::ScaleGrid grid = scale_grid(p);
  const std::int64_t size = has_fp32_scales(p) ? 4 : 1;
  const std::int64_t plain = p.scaling == GluScaling::row ? row : mx::plain_index(grid, 0, row, block);
  const std::int64_t at = has_atoms(p) ? mx::blocked_index(grid, 0, row, block) : plain;
  std::memcpy(static_cast<std::uint8_t*>(a.scales.data) + at * size, &scale.stored, static_cast<std::size_t>(size));
}

}  // namespace

std::string check_scaling(const Glu& p) {
  if (!is_quantized(p)) {
    if (p.element != Glu{}.element || p.mode != Glu{}.mode || p.policy != Glu{}.policy || has_atoms(p) ||
        has_columns(p))
      return "element, mode, policy, scale_layout and direction are for a scaling: say scaling=mx, tensor, row or "
             "block128";
    return {};
  }
  if (has_scale_gradient(p)) return "a scale in pass=backward, which has a gradient, goes with scaling=none";
  if (p.policy == ScalePolicy::te && p.mode != ScaleMode::rceil) return "policy=te has mode=rceil only";
  if (std::string why = check_scales(p); !why.empty()) return why;
  if (std::string why = check_parts(p); !why.empty()) return why;
  return has_matrix(p) ? check_matrix(p) : std::string();
}

void specialize_scaling(const Glu& p, Spec& spec) {
  spec.header("common/scaling.cuh");
  spec.type("Element", common::spec_type(p.element));
  spec.choice("common::ScaleMode", "mode", kModes[static_cast<int>(p.mode)]);
  spec.choice("common::ScalePolicy", "policy", kPolicies[static_cast<int>(p.policy)]);
  spec.choice("common::ScaleFormat", "scale_format", has_fp32_scales(p) ? "fp32" : "e8m0");
  spec.integer("block_length", block_length(p));
  spec.part(p.scaling == GluScaling::row ? "glu/row.cuh" : "glu/blocks.cuh");
}

void quantize_row(const Glu& p, const GluArgs& a, std::int64_t row, const float* numbers) {
  auto* const out = static_cast<std::uint8_t*>(is_backward(p) ? a.x_gradient.data : a.out.data) +
                    row * (is_backward(p) ? x_gradient_stride(p) : out_stride(p));
  const std::int64_t line = line_of(p), length = has_blocks(p) ? block_length(p) : std::max<std::int64_t>(1, line);
  for (std::int64_t first = 0; first < line || first == 0; first += length) {
    const std::int64_t count = std::min(length, line - first);
    const mx::BlockScale scale = scale_of(p, a, numbers + first, count);
    for (std::int64_t i = first; i < first + count; ++i)
      out[i] = mx::encode_element(p.element, numbers[i] * scale.reciprocal);
    if (p.scaling != GluScaling::tensor && (count > 0 || p.scaling == GluScaling::row))
      put_scale(p, a, row, first / length, scale);
  }
}

}  // namespace quern::glu
