// The rules between the fields of a problem.
#include <algorithm>

#include "mxfp8/choice_names.h"
#include "mxfp8/quantize.h"

namespace quern::mxfp8 {
namespace {

std::string check_prologue(const Mxfp8& p) {
  if (p.prologue == Mxfp8Prologue::none)
    return p.activation == Activation::identity ? "" : "activation is for a prologue: act, gated, dact or dgated";
  if (p.source_order == Mxfp8Order::rows)
    return "a prologue goes with source_order=cols: source and input have the rows of what is quantized";
  if (p.prologue == Mxfp8Prologue::dgated && p.cols % 2 != 0)
    return "cols=" + std::to_string(p.cols) + " is odd, and prologue=dgated makes two halves";
  return {};
}

std::string check_sums(const Mxfp8& p) {
  if (!has_sums(p)) return {};
  if (p.source_order == Mxfp8Order::rows) return "bias_gradient goes with source_order=cols: it sums rows of source";
  if (p.groups > 0) return "bias_gradient=sums goes with groups=0: sums are of whole columns";
  return {};
}

std::string check_modes(const Mxfp8& p) {
  if (p.policy == Mxfp8Policy::te && p.mode != Mxfp8Mode::rceil)
    return std::string("mode=") + kModes[static_cast<int>(p.mode)] +
           " goes with policy=ao; policy=te has mode=rceil only";
  if (p.source_order == Mxfp8Order::rows && p.out_order == Mxfp8Order::cols)
    return "out_order=cols goes with source_order=cols; with source_order=rows out is transposed, out_order=rows";
  return {};
}

std::string check_varying(const Mxfp8& p) {
  if (p.capacity != 0 && p.varying != Mxfp8Varying::both)
    return "capacity is for varying=both; else groups have rows * cols elements at most";
  if (!has_matrices(p)) return {};
  const std::string varying = std::string("varying=") + kVaryings[static_cast<int>(p.varying)];
  if (p.groups == 0) return varying + " is for groups: give their number, as in groups=8";
  if (p.scaling != Mxfp8Scaling::mx) return varying + " goes with scaling=mx";
  if (p.prologue != Mxfp8Prologue::none) return varying + " goes with prologue=none";
  if (p.source_stride != 0) return "source_stride goes with varying=rows; other groups have no gaps";
  if (has_out_strides(p)) return "out_stride and out_col_stride go with varying=rows; other groups have no gaps";
  return {};
}

std::string check_groups(const Mxfp8& p) {
  if (p.groups > 0 && p.source_order == Mxfp8Order::rows)
    return "groups go with source_order=cols: their rows must be contiguous";
  if (p.groups > 0 && has_expert_stride(p)) return "source_expert_stride is for experts; groups are of one matrix";
  if (p.groups >= std::int64_t{1} << 31) return "groups must be fewer than 2^31";
  return {};
}

// The options that need scaling=mx.
std::string check_fp32_scales(const Mxfp8& p) {
  const std::string scaling = std::string("scaling=") + kScalings[static_cast<int>(p.scaling)];
  if (p.policy == Mxfp8Policy::te) return "policy=te goes with scaling=mx; " + scaling + " has policy=ao";
  if (p.scale_layout != Mxfp8Scales::plain)
    return std::string("scale_layout=") + kPaddedScaleLayouts[static_cast<int>(p.scale_layout)] +
           " goes with scaling=mx; " + scaling + " has plain scales";
  if (square(p)) return "blocks of squares go with scaling=mx; " + scaling + " has block=line";
  return {};
}

std::string check_scaling(const Mxfp8& p) {
  if (padded(p) && p.block == Mxfp8Block::square)
    return "scale_layout=padded has a scale for each line: write block=square_spread for squares";
  const bool along_cols = p.source_order == Mxfp8Order::cols;
  switch (p.scaling) {
    case Mxfp8Scaling::tensor:
      if (p.mode != Mxfp8Mode::rceil)
        return "mode is for scales that are made; scaling=tensor takes given_scale, and the default, mode=rceil";
      break;
    case Mxfp8Scaling::row:
      if (p.direction != Mxfp8Direction::row || !along_cols)
        return "scaling=row goes with direction=row and source_order=cols";
      if (p.tail == Mxfp8Tail::pad) return "tail=pad is for blocks; with scaling=row a row has any length";
      if (has_sums(p)) return "bias_gradient goes with the other scalings: scaling=row reads row by row";
      break;
    case Mxfp8Scaling::block128:
      if (!along_cols) return "scaling=block128 goes with source_order=cols";
      if (p.groups > 0 && p.direction != Mxfp8Direction::row)
        return "groups with scaling=block128 go with direction=row";
      break;
    default:
      return p.mode == Mxfp8Mode::exact ? "mode=exact is for fp32 scales: scaling=block128 or scaling=row" : "";
  }
  return check_fp32_scales(p);
}

std::string check_blocks(const Mxfp8& p) {
  if (!is_whole(p)) return {};
  const std::int64_t block = block_length(p);
  const bool matrices = has_matrices(p), both = matrices || square(p);
  if ((both || row_made(p)) && !mx::has_whole_blocks(p.cols, block))
    return mx::cut_block_text("cols", p.cols, block, matrices ? "groups" : "rows");
  if ((both || col_made(p)) && !mx::has_whole_blocks(p.rows, block))
    return mx::cut_block_text("rows", p.rows, block, matrices ? "groups" : "columns");
  return {};
}

// The lines of out, or of out_col, which do not overlap and fit a memory with their gaps.
std::string check_out_stride(const Mxfp8& p, bool col) {
  const std::int64_t stride = out_stride_of(p, col), line = line_of(p, col);
  if (stride == 0) return {};
  const bool second = col && both_made(p);
  const std::string field = second ? "out_col_stride" : "out_stride", out = second ? "out_col" : "out";
  if (stride < line)
    return field + " is below the length of a line of " + out + ", " + std::to_string(line) +
           ", so lines would overlap";
  std::int64_t all = std::max<std::int64_t>(1, has_column_lines(p, col) ? p.cols : p.rows);
  if (__builtin_mul_overflow(all, std::max<std::int64_t>(1, p.experts), &all) ||
      __builtin_mul_overflow(all, stride, &all) || all > kMaxExtent)
    return field + " is too large: all lines of " + out + " may have 2^46 elements, gaps included";
  return {};
}

std::string check_memory(const Mxfp8& p) {
  std::string why = mx::check_strided(source_of(p), matrix_of(p).cols);
  if (!has_out_strides(p)) return why;
  if (p.out_col_stride != 0 && !both_made(p))
    return "out_col_stride is for direction=both, which has out_col; out has out_stride";
  if (why.empty() && row_made(p)) why = check_out_stride(p, false);
  if (why.empty() && col_made(p)) why = check_out_stride(p, true);
  return why;
}

}  // namespace

std::string check_extents(const Mxfp8& p) {
  if (p.groups > 0 && p.experts != 1 && p.experts != kOpen)
    return "groups are of one matrix, experts=1; experts are groups of one size";
  if (std::string why = check_memory(p); !why.empty()) return why;
  return check_blocks(p);
}

std::string check(const Mxfp8& p) {
  for (const auto rule :
       {check_modes, check_prologue, check_sums, check_groups, check_varying, check_scaling, check_extents}) {
    if (std::string why = rule(p); !why.empty()) return why;
  }
  return {};
}

}  // namespace quern::mxfp8
