#include "pointwise/scaled.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "base/text.h"
#include "common/host_types.h"
#include "mx/block_scale.h"

namespace quern::pointwise::scaled {
namespace {

using program::Summary;

bool has_fp32_scales(const Pointwise& p) { return p.scaling != PointwiseScaling::mx; }

mx::ScaleGrid grid_of(const Pointwise& p) {
  return {1, p.rows, p.width, false, block_length(p), false, 0, false, has_fp32_scales(p) ? f32 : e8m0};
}
std::int64_t scales_of_row(const Pointwise& p) { return has_whole_rows(p) ? 1 : grid_of(p).blocks(); }

// The output of that number among those with scales.
int output_of(const Pointwise& p, int scale) {
  const Summary& s = program::summary(p);
  for (int i = 0; i < s.outputs; ++i) {
    if (program::has_scales(p, s.entries[s.inputs + i]) && scale-- == 0) return i;
  }
  return -1;
}

void put_scale(const Pointwise& p, void* scales, std::int64_t row, std::int64_t block, const mx::BlockScale& scale) {
  const std::int64_t size = has_fp32_scales(p) ? 4 : 1, plain = row * scales_of_row(p) + block;
  const std::int64_t at = has_atoms(p) ? mx::blocked_index(grid_of(p), 0, row, block) : plain;
  std::memcpy(static_cast<std::uint8_t*>(scales) + at * size, &scale.stored, static_cast<std::size_t>(size));
}

std::string check_rules(const Pointwise& p) {
  if (p.policy == ScalePolicy::te && (p.scaling != PointwiseScaling::mx || p.mode != ScaleMode::rceil))
    return "policy=te goes with scaling=mx and mode=rceil";
  if (p.scaling == PointwiseScaling::mx && p.mode == ScaleMode::exact)
    return "mode=exact is for fp32 scales: scaling=block128 or scaling=row";
  if (p.scaling != PointwiseScaling::mx && has_atoms(p))
    return "scale_layout=blocked goes with scaling=mx; fp32 scales are plain";
  return {};
}

}  // namespace

int count(const Pointwise& p) {
  if (p.scaling == PointwiseScaling::none) return 0;  // launches ask, and need not look for the program
  const Summary& s = program::summary(p);
  int all = 0;
  for (int i = 0; i < s.outputs; ++i) all += program::has_scales(p, s.entries[s.inputs + i]) ? 1 : 0;
  return all;
}

Layout scales_layout(const Pointwise& p, int entry) {
  if (entry >= scales_count(&p)) return {};
  if (has_atoms(p)) return mx::blocked_layout(grid_of(p));
  const std::int64_t scales = scales_of_row(p);
  return Layout::matrix(has_fp32_scales(p) ? f32 : e8m0, p.rows, scales, scales);
}

int scales_count(const void* p) {
  const auto& problem = *static_cast<const Pointwise*>(p);
  return has_program(problem) ? count(problem) : 0;
}

std::string scales_name(const void* p, int entry) {
  const auto& problem = *static_cast<const Pointwise*>(p);
  if (entry >= scales_count(p)) return {};
  return program::name_of(problem, program::summary(problem).inputs + output_of(problem, entry)) + "_scales";
}

std::int64_t bytes(const Pointwise& p) {
  const Layout each = scales_layout(p, 0);
  return each.dtype == DType::none ? 0 : count(p) * each.elements() * quern::bytes(each.dtype);
}

std::string check(const Pointwise& p) {
  constexpr Pointwise kDefault;
  if (p.scaling == PointwiseScaling::none) {
    const bool plain = p.mode == kDefault.mode && p.policy == kDefault.policy && !has_atoms(p);
    return plain ? "" : "mode, policy and scale_layout are for a scaling: say scaling=mx, row or block128";
  }
  if (!has_program(p))
    return "scaling is for the outputs of expr, whose types it gives: say expr=\"out: e4m3; out = x\"";
  if (count(p) == 0)
    return "scaling is for outputs of e4m3 or e5m2 that cover [rows, width], and expr has none: declare one, "
           "as in \"out: e4m3; out = x\", or leave scaling out";
  return check_rules(p);
}

// ---- The image

std::vector<std::string> places(const Pointwise& p) {
  const Summary& s = program::summary(p);
  std::vector<std::string> places;
  int scales = 0;
  for (int i = 0; i < s.outputs; ++i)
    places.push_back(cat(program::has_scales(p, s.entries[s.inputs + i]) ? scales++ : -1));
  return places;
}

void specialize(const Pointwise& p, Spec& spec) {
  spec.header("common/scaling.cuh");
  spec.integer("scaled", count(p));
  spec.integer("block_length", block_length(p));
  spec.choice("common::ScaleMode", "mode", kModes[static_cast<int>(p.mode)]);
  spec.choice("common::ScalePolicy", "policy", kPolicies[static_cast<int>(p.policy)]);
  spec.choice("common::ScaleFormat", "scale_format", has_fp32_scales(p) ? "fp32" : "e8m0");
  spec.flag("blocked", has_atoms(p));
}

// ---- The reference

void clear_scales(const Pointwise& p, const PointwiseArgs& a) {
  for (int i = 0; has_atoms(p) && i < count(p); ++i)
    std::fill_n(static_cast<std::uint8_t*>(a.scales.entries[i].data), scales_layout(p, i).elements(), std::uint8_t{0});
}

void quantize_row(const Pointwise& p, const PointwiseArgs& a, int output, int scale, std::int64_t row,
                  const float* numbers) {
  const Summary& s = program::summary(p);
  const DType element = program::dtype_of(p, s.entries[s.inputs + output]);
  auto* const out = static_cast<std::uint8_t*>(a.outputs.entries[output].data) + row * p.width;
  const std::int64_t length = has_whole_rows(p) ? std::max<std::int64_t>(1, p.width) : block_length(p);
  for (std::int64_t first = 0; first < p.width || (first == 0 && has_whole_rows(p)); first += length) {
    const std::int64_t end = std::min(p.width, first + length);
    float amax = 0;
    for (std::int64_t c = first; c < end; ++c) amax = mx::larger_magnitude(p.policy, amax, numbers[c]);
    const mx::BlockScale made = mx::scale_of_block({element, p.mode, p.policy, has_fp32_scales(p)}, amax);
    for (std::int64_t c = first; c < end; ++c) out[c] = mx::encode_element(element, numbers[c] * made.reciprocal);
    put_scale(p, a.scales.entries[scale].data, row, first / length, made);
  }
}

void spread_magnitudes(const Layout& layout, std::uint64_t seed, void* data) {
  for (std::int64_t i = 0; i < layout.span_bytes() / quern::bytes(layout.dtype); ++i) {
    const int exponent = static_cast<int>(random_at(seed + 7, static_cast<std::uint64_t>(i / 32)) % 11) - 6;
    common::write_float(layout.dtype, data, i, std::ldexp(common::read_float(layout.dtype, data, i), exponent));
  }
}

// Where all operations are exact, all bits are the same. Else a largest magnitude that differs by some fp32 units makes
// an fp32 scale that does; next to a power of two it makes one of another power, and elements of half or twice the
// size, which is 8 steps of e4m3.
Tolerance tolerance(const Pointwise& p, int output) {
  if (program::inexact_of(p, output).all == 0) return {};
  return {p.mode == ScaleMode::exact ? 1.0 : 8.0, 0x1p-9};
}
Tolerance tolerance_of_scales(const Pointwise& p, int entry) {
  if (program::inexact_of(p, output_of(p, entry)).all == 0) return {};
  return {p.mode == ScaleMode::exact ? 512.0 : has_fp32_scales(p) ? 0x1p23 : 1.0};
}

}  // namespace quern::pointwise::scaled
