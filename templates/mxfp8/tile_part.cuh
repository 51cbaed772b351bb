// The matrix of a block's stack: an expert's, or that of a group of rows.
#ifndef QUERN_MXFP8_TILE_PART_CUH_
#define QUERN_MXFP8_TILE_PART_CUH_

#include "mxfp8/group_ends.cuh"
#include "mxfp8/tile_shape.cuh"

namespace quern::mxfp8 {

using namespace common;

struct TilePart {
  i64 rows;
  i64 first_row;   // in source, and in outputs with its layout
  i64 gap;         // of its rows, see SourceRow
  i64 lines;       // where its transposed lines begin, in elements
  i64 row_scales;  // where its scales begin
  i64 col_scales;
  i64 stack;  // this block's, counted from the part's first row
};

// Stacks are numbered so that those that run at the same time are adjacent.
struct StackPosition {
  u64 expert;
  u32 row;
  u32 column;
};

// By divisions, which take fewer registers than the numbers that replace them. `stack`: of the expert.
QUERN_DEVICE StackPosition position_by_division(const KernelParams& p, u64 expert, u32 stack) {
  const u32 panel = stack / (p.panel * p.down), first = panel * p.panel;
  const u32 width = p.across - first < p.panel ? p.across - first : p.panel;
  const u32 in_panel = stack - first * p.down;
  return {expert, in_panel / width, first + in_panel % width};
}

// Of groups that are matrices of their own, the block's stack is a parameter.
template <class P>
QUERN_DEVICE u32 unit_of(const P& p) {
  if constexpr (spec::varying) {
    return p.unit;
  } else {
    return 0;
  }
}

QUERN_DEVICE StackPosition stack_position(const KernelParams& p, u32 index) {
  if constexpr (spec::varying) return position_by_division(p, 0, unit_of(p));
  const u64 expert = divide(index, p.by_stacks);
  const u32 stack = static_cast<u32>(index - expert * (static_cast<u64>(p.across) * p.down));
  if constexpr (spec::bias_gradient) return position_by_division(p, expert, stack);  // sums have no registers left
  const u32 first = divide32(stack, p.by_panel) * p.panel, in_panel = stack - first * p.down;
  const bool is_whole = p.across - first >= p.panel;
  const u32 row = divide32(in_panel, is_whole ? p.by_width : p.by_last_width);
  return {expert, row, first + in_panel - row * (is_whole ? p.panel : p.across - first)};
}

// ---- Experts: all of one size

QUERN_DEVICE i64 row_scale_bytes(const KernelParams& p) {
  if constexpr (kWholeAtoms) return blocked_bytes(p.rows, p.row_blocks);
  return (kOnceASquare ? p.col_blocks : p.rows) * p.row_blocks * kScaleBytes;
}
QUERN_DEVICE i64 col_scale_bytes(const KernelParams& p) {
  if constexpr (kWholeAtoms) return blocked_bytes(p.cols, p.col_blocks);
  return (kOnceASquare ? p.row_blocks : p.cols) * p.col_blocks * kScaleBytes;
}

QUERN_DEVICE TilePart part_of_expert(const KernelParams& p, const StackPosition& position) {
  const i64 expert = static_cast<i64>(position.expert);
  return {p.rows,
          expert * p.rows,
          gap_before(p, position.expert),
          spec::out_strides ? expert * p.cols * col_pitch(p, true) : expert * p.rows * p.cols,
          expert * row_scale_bytes(p),
          expert * col_scale_bytes(p),
          position.row};
}

// ---- Groups: their scales are contiguous, in whole blocks; blocked ones in whole atoms

// In shared memory: the result of find_group, then the part.
QUERN_DEVICE u8* group_numbers() { return dynamic_shared() + kShared.part; }
QUERN_DEVICE u8* part_numbers() { return group_numbers() + kPartBytes / 2; }

QUERN_DEVICE void put_part_of_group(const KernelParams& p) {
  const GroupPlace g = group_place(group_numbers());
  const i64 rows = kWholeAtoms ? g.padded_rows : kOnceASquare ? g.blocks : g.start;
  const i64 row_bytes = (kWholeAtoms ? round_up(p.row_blocks, 4) : p.row_blocks) * kScaleBytes;
  const i64 blocks = kWholeAtoms ? g.padded_blocks : g.blocks;
  const i64 block_bytes = kWholeAtoms ? round_up(p.cols, 128) : kOnceASquare ? p.row_blocks : p.cols;
  const i64 part[] = {g.rows, g.start, g.unit, rows * row_bytes, blocks * block_bytes};
#pragma unroll
  for (int i = 0; i < 5; ++i) put_number(part_numbers(), i, part[i]);
}

// By all threads: whether the block has work.
QUERN_DEVICE bool begin_part(const KernelParams& p) {
  constexpr i64 kStackRows = kStack * kTileRows;
  const auto stacks = [](i64 rows) { return (rows + kStackRows - 1) / kStackRows; };
  if (find_group(ends_of(p), stack_position(p, blockIdx.x).row, group_numbers(), stacks) != Search::found) return false;
  if (threadIdx.x == 0) put_part_of_group(p);
  __syncthreads();
  return true;
}

QUERN_DEVICE TilePart part_of_group() {
  const u8* const part = part_numbers();
  const i64 start = number_at(part, 1);
  return {number_at(part, 0), start, 0, start, number_at(part, 3), number_at(part, 4), number_at(part, 2)};
}

QUERN_DEVICE TilePart part_of(const KernelParams& p, const StackPosition& position) {
  if constexpr (spec::groups) return part_of_group();
  return part_of_expert(p, position);
}

QUERN_DEVICE i64 blocks_of_columns(const KernelParams& p, const TilePart& part) {
  return spec::groups ? (part.rows + 31) / 32 : p.col_blocks;
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_PART_CUH_
