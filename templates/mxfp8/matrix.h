// The problem from the kernel's point of view: which dimension is contiguous in memory, and which outputs of which
// sizes it has. Host code.
#ifndef QUERN_MXFP8_MATRIX_H_
#define QUERN_MXFP8_MATRIX_H_

#include "mx/scales.h"
#include "mx/strided.h"
#include "mxfp8/mxfp8.h"
#include "mxfp8/varying.h"

namespace quern::mxfp8 {

inline constexpr std::int64_t kBlockElements = 32;

using mx::round_up_to;

// Source is `rows` rows of `cols` contiguous elements for each expert. `along`: blocks lie along its rows, `across`:
// across them; one or both.
struct Matrix {
  std::int64_t experts;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t line;    // elements of a row of source: cols, unless a prologue reads more or fewer
  std::int64_t stride;  // elements from a row of source to the next
  std::int64_t gap;     // added to it, may be negative, from an expert's last row to the next expert's first
  bool along;
  bool across;
};

// Elements of a line of source.
inline std::int64_t source_line(const Mxfp8& p) {
  if (p.source_order == Mxfp8Order::rows) return p.rows;
  if (p.prologue == Mxfp8Prologue::gated) return 2 * p.cols;
  return p.prologue == Mxfp8Prologue::dgated ? p.cols / 2 : p.cols;
}

inline bool has_expert_stride(const Mxfp8& p) { return p.source_expert_stride != 0; }

// The memory of source.
inline mx::Strided source_of(const Mxfp8& p) {
  const std::int64_t line = source_line(p);
  return {p.experts, p.source_order == Mxfp8Order::rows ? p.cols : p.rows, line,
          p.source_stride == 0 ? line : p.source_stride, p.source_expert_stride};
}

inline Matrix matrix_of(const Mxfp8& p) {
  const bool swapped = p.source_order == Mxfp8Order::rows;
  const std::int64_t rows = swapped ? p.cols : p.rows, cols = swapped ? p.rows : p.cols;
  const bool row = p.direction != Mxfp8Direction::col, col = p.direction != Mxfp8Direction::row;
  const mx::Strided source = source_of(p);
  return {p.experts,          rows, cols, source.line, source.stride, mx::expert_gap(source), swapped ? col : row,
          swapped ? row : col};
}

// The first element of a row; `row` counts the rows of all experts.
inline std::int64_t row_begin(const Matrix& m, std::int64_t row) {
  return row * m.stride + (m.gap == 0 ? 0 : row / m.rows * m.gap);
}

// ---- Which elements share a scale

inline bool has_given_scale(const Mxfp8& p) { return p.scaling == Mxfp8Scaling::tensor; }
inline bool has_fp32_scales(const Mxfp8& p) { return p.scaling != Mxfp8Scaling::mx; }
// Whether lines are cut into blocks, so that a dimension is a multiple of the block or has a tail. With scaling=tensor
// a block has no scale, but the rule ensures that lines can be written 16 bytes at a time.
inline bool has_blocks(const Mxfp8& p) { return p.scaling != Mxfp8Scaling::row; }
inline bool is_whole(const Mxfp8& p) { return has_blocks(p) && p.tail == Mxfp8Tail::refuse; }

inline constexpr std::int64_t kWholeLine = std::int64_t{1} << 30;  // more than any line has

// Elements of a line that share a scale, a power of two; with scaling=tensor the elements of a step.
inline std::int64_t block_length(const Mxfp8& p) {
  if (p.scaling == Mxfp8Scaling::row) return kWholeLine;
  return p.scaling == Mxfp8Scaling::block128 ? 128 : kBlockElements;
}
inline std::int64_t blocks_of(const Mxfp8& p, std::int64_t n) { return mx::divide_up_by_power(n, block_length(p)); }

inline DType scale_type(const Mxfp8& p) { return has_fp32_scales(p) ? f32 : e8m0; }
inline std::int64_t scale_size(const Mxfp8& p) { return bytes(scale_type(p)); }

inline bool blocked(const Mxfp8& p) { return p.scale_layout == Mxfp8Scales::blocked; }
inline bool padded(const Mxfp8& p) { return p.scale_layout == Mxfp8Scales::padded; }
inline bool square(const Mxfp8& p) { return p.block != Mxfp8Block::line; }
inline bool row_made(const Mxfp8& p) { return p.direction != Mxfp8Direction::col; }
inline bool col_made(const Mxfp8& p) { return p.direction != Mxfp8Direction::row; }
inline bool both_made(const Mxfp8& p) { return row_made(p) && col_made(p); }
inline bool has_input(const Mxfp8& p) {
  return p.prologue == Mxfp8Prologue::dact || p.prologue == Mxfp8Prologue::dgated;
}
inline bool has_sums(const Mxfp8& p) { return p.bias_gradient != Mxfp8BiasGradient::none; }
inline bool is_empty(const Mxfp8& p) { return p.experts == 0 || p.rows == 0 || p.cols == 0; }
// Whether there are sums, and all are over zero rows.
inline bool sums_nothing(const Mxfp8& p) { return has_sums(p) && p.rows == 0 && p.experts != 0 && p.cols != 0; }

// Whether every group must have whole blocks of rows. If no block lies across rows, a group may have any number of
// rows. Matrices of groups have whole blocks in both dimensions, so that each begins at a multiple of a vector.
inline bool has_whole_groups(const Mxfp8& p) {
  return is_whole(p) && (has_matrices(p) || matrix_of(p).across || square(p));
}

// The scales of one direction.
inline mx::ScaleGrid scale_grid(const Mxfp8& p, bool col) {
  return {p.experts,       p.rows,
          p.cols,          col,
          block_length(p), p.block == Mxfp8Block::square,
          p.groups,        p.tail == Mxfp8Tail::pad,
          scale_type(p)};
}

// Whether a square's scale is written once instead of once for each of its lines.
inline bool one_scale_a_square(const Mxfp8& p) {
  return p.block == Mxfp8Block::square && p.scale_layout == Mxfp8Scales::plain;
}

// ---- Memory. `col`: for the col direction.

inline Layout experts_layout(DType type, std::int64_t experts, std::int64_t rows, std::int64_t cols) {
  return Layout::matrices(type, experts, rows, cols, rows * cols, cols);
}

// The elements of a direction have a line for each row, or transposed for each column.
inline bool has_column_lines(const Mxfp8& p, bool col) { return col && p.out_order == Mxfp8Order::rows; }
inline std::int64_t line_of(const Mxfp8& p, bool col) { return has_column_lines(p, col) ? p.rows : p.cols; }
// Elements from a line to the next.
inline std::int64_t out_stride_of(const Mxfp8& p, bool col) {
  return col && both_made(p) ? p.out_col_stride : p.out_stride;
}
inline std::int64_t pitch_of(const Mxfp8& p, bool col) {
  const std::int64_t stride = out_stride_of(p, col);
  return stride == 0 ? line_of(p, col) : stride;
}
inline bool has_out_strides(const Mxfp8& p) { return p.out_stride != 0 || p.out_col_stride != 0; }

inline Layout elements_layout(const Mxfp8& p, bool col) {
  if (has_matrices(p)) return Layout::list(p.element, most_elements(p));
  const std::int64_t lines = has_column_lines(p, col) ? p.cols : p.rows;
  return Layout::matrices(p.element, p.experts, lines, line_of(p, col), lines * pitch_of(p, col), pitch_of(p, col));
}

// The bytes of the scales of one matrix: an expert's, or a group's.
inline std::int64_t scale_room(const Mxfp8& one, bool col) {
  const mx::ScaleGrid g = scale_grid(one, col);
  return blocked(one) || padded(one) ? mx::blocked_bytes(g) : mx::plain_scales(g) * scale_size(one);
}

// Scales of groups that are matrices of their own, at most.
inline std::int64_t most_scales(const Mxfp8& p, bool col) {
  if (blocked(p) || padded(p)) return most_tiles(p, 128, 128) * 512;
  const bool once = one_scale_a_square(p);
  return most_tiles(p, col || once ? kBlockElements : 1, !col || once ? kBlockElements : 1);
}

inline Layout scales_layout(const Mxfp8& p, bool col) {
  if (has_given_scale(p)) return {};
  if (has_matrices(p)) return Layout::list(e8m0, most_scales(p, col));
  if (padded(p)) return mx::padded_layout(scale_grid(p, col));
  return blocked(p) ? mx::blocked_layout(scale_grid(p, col)) : mx::plain_layout(scale_grid(p, col));
}

// Bytes of scales that must be written: all except the padding of atoms.
inline std::int64_t scale_bytes(const Mxfp8& p, bool col) {
  if (has_given_scale(p)) return scale_size(p);
  const mx::ScaleGrid g = scale_grid(p, col);
  const std::int64_t scales = one_scale_a_square(p) ? mx::plain_scales(g) : g.lines() * g.blocks();
  return p.experts * scales * scale_size(p);
}

// The plain reference.
void quantize_reference(const Mxfp8& p, const Mxfp8Args& a);
// Generates blocks of all magnitudes, from denormals to the largest, some with NaNs or infinities.
void generate_source(const Mxfp8& p, std::uint64_t seed, void* data);

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_MATRIX_H_
