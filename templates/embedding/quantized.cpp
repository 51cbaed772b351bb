#include "embedding/quantized.h"

#include <algorithm>
#include <cstring>

#include "common/host_types.h"
#include "embedding/backward.h"
#include "mx/block_scale.h"

namespace quern::embedding {
namespace {

mx::BlockScale scale_of(const Embedding& p, const EmbeddingArgs& a, const void* numbers, std::int64_t first,
                        std::int64_t count) {
  if (has_given_scale(p)) return mx::fp32_scale(*static_cast<const float*>(a.given_scale.data));
  float amax = 0;
  for (std::int64_t i = first; i < first + count; ++i)
    amax = mx::larger_magnitude(p.policy, amax, static_cast<float>(common::read_float(p.dtype, numbers, i)));
  return mx::scale_of_block({p.element, p.scale_mode, p.policy, has_fp32_scales(p)}, amax);
}

void put_scale(const Embedding& p, const EmbeddingArgs& a, std::int64_t row, std::int64_t block,
               const mx::BlockScale& scale) {
  const std::int64_t size = has_fp32_scales(p) ? 4 : 1, plain = row * scales_of_row(p) + block;
  const std::int64_t at = has_atoms(p) ? mx::blocked_index(scale_grid(p), 0, row, block) : plain;
  std::memcpy(static_cast<std::uint8_t*>(a.out_scales.data) + at * size, &scale.stored, static_cast<std::size_t>(size));
}

std::string check_rules(const Embedding& p) {
  if (p.policy == ScalePolicy::te && (p.scaling != EmbeddingScaling::mx || p.scale_mode != ScaleMode::rceil))
    return "policy=te goes with scaling=mx and scale_mode=rceil";
  if (p.scaling == EmbeddingScaling::mx)
    return p.scale_mode == ScaleMode::exact ? "scale_mode=exact is for fp32 scales: scaling=row or block128" : "";
  if (has_atoms(p)) return "scale_layout=blocked goes with scaling=mx; fp32 scales are plain";
  if (has_given_scale(p) && p.scale_mode != ScaleMode::rceil)
    return "scale_mode is for scales that are made; scaling=tensor takes given_scale: leave scale_mode out";
  return {};
}

}  // namespace

std::int64_t columns_to_do(const Embedding& p, const Cut& cut) {
  if (!has_atoms(p)) return columns_of(p, cut);
  return mx::round_up_to(scale_grid(p).blocks(), 4) * threads_of_block(p, cut.elements);
}

std::string check_scaling(const Embedding& p) {
  if (is_quantized(p))
    return is_backward(p) ? "scaling is of out: pass=backward takes the gradient of its numbers before they were "
                            "quantized, so leave scaling out"
                          : check_rules(p);
  constexpr Embedding kDefault;
  const bool plain = p.element == kDefault.element && p.scale_mode == kDefault.scale_mode &&
                     p.policy == kDefault.policy && !has_atoms(p);
  return plain ? ""
               : "element, scale_mode, policy and scale_layout are for a scaling: say scaling=mx, tensor, row or "
                 "block128";
}

void specialize_scaling(const Embedding& p, Spec& spec) {
  if (!is_quantized(p)) return spec.part("embedding/plain.cuh");
  spec.header("common/scaling.cuh");
  spec.type("Element", common::spec_type(p.element));
  spec.choice("common::ScaleMode", "scale_mode", kScaleModes[static_cast<int>(p.scale_mode)]);
  spec.choice("common::ScalePolicy", "policy", kScalePolicies[static_cast<int>(p.policy)]);
  spec.choice("common::ScaleFormat", "scale_format", has_fp32_scales(p) ? "fp32" : "e8m0");
  spec.choice("EmbeddingScaling", "scaling", kScalings[static_cast<int>(p.scaling)]);
  spec.integer("block_length", block_length(p));
  spec.flag("blocked", has_atoms(p));
  spec.part("embedding/quantized.cuh");
}

void quantize_row(const Embedding& p, const EmbeddingArgs& a, std::int64_t row, const void* numbers) {
  auto* const out = static_cast<std::uint8_t*>(a.out.data) + row * out_stride(p);
  const std::int64_t width = width_of(p), length = block_length(p) == 0 ? width : block_length(p);
  for (std::int64_t first = 0; first < width; first += length) {
    const std::int64_t count = std::min(length, width - first);
    const mx::BlockScale scale = scale_of(p, a, numbers, first, count);
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto number = static_cast<float>(common::read_float(p.dtype, numbers, i));
      out[i] = mx::encode_element(p.element, number * scale.reciprocal);
    }
    if (has_made_scales(p)) put_scale(p, a, row, first / length, scale);
  }
}

}  // namespace quern::embedding
