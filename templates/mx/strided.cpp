#include "mx/strided.h"

#include <algorithm>

#include "mx/scales.h"
#include "quern/family.h"

namespace quern::mx {
namespace {

constexpr std::int64_t kMaxLine = std::int64_t{1} << 30;  // see common::Slots

bool is_beyond_memory(std::int64_t matrices, std::int64_t rows, std::int64_t cols) {
  std::int64_t all = 0;
  return __builtin_mul_overflow(std::max<std::int64_t>(matrices, 1), rows, &all) ||
         __builtin_mul_overflow(all, cols, &all) || all > kMaxExtent;
}

// Assumes that every line and column is padded to a whole atom, in any layout, and that no extent is 0. Of the two
// strides the larger one includes the other.
bool is_too_large(const Strided& m, std::int64_t cols) {
  const auto padded = [](std::int64_t n) { return round_up_to(std::max<std::int64_t>(n, 1), 128); };
  const std::int64_t rows = padded(m.rows), stride = padded(m.stride);
  if (m.expert_stride == 0) return is_beyond_memory(m.experts, rows, std::max(stride, padded(cols)));
  return is_beyond_memory(m.experts, rows, padded(cols)) || is_beyond_memory(1, rows, stride) ||
         is_beyond_memory(m.experts, 1, m.expert_stride);
}

// Experts are either separate or interleaved: a line of each, then the next line of each. Open extents are checked at
// the launch.
bool experts_overlap(const Strided& m) {
  if (m.expert_stride == 0 || m.experts == kOpen || m.rows == kOpen || m.experts * m.rows == 0) return false;
  return m.expert_stride < (m.rows - 1) * m.stride + m.line && m.stride < (m.experts - 1) * m.expert_stride + m.line;
}

}  // namespace

std::string check_strided(const Strided& m, std::int64_t widest) {
  if (m.stride < m.line) return "source_stride is below the length of a line of source, so lines would overlap";
  if (m.expert_stride != 0 && m.expert_stride < m.line)
    return "source_expert_stride is below the length of a line of source, so lines would overlap";
  if (std::max(m.line, widest) >= kMaxLine) return "a line of source must have fewer than 2^30 elements";
  if (is_too_large(m, widest))
    return "source is too large: all experts together may have 2^46 elements, gaps and padding included";
  if (experts_overlap(m))
    return "source_expert_stride makes experts overlap: they lie apart, or a line of each before the next line of each";
  return {};
}

std::string cut_block_text(const char* field, std::int64_t extent, std::int64_t block, const char* what) {
  const std::string length = std::to_string(block);
  return std::string(field) + "=" + std::to_string(extent) + " is not a multiple of " + length + ", and " + what +
         " are cut into blocks of " + length + "; tail=pad makes the last block as if zeros followed";
}

}  // namespace quern::mx
