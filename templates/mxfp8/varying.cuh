// Groups that are matrices of their own, one after the other in memory. A thread block finds its group and then works
// as if the group were the whole problem. Templates, because only such kernels have these parameters.
#ifndef QUERN_MXFP8_VARYING_CUH_
#define QUERN_MXFP8_VARYING_CUH_

#include "mxfp8/tile_part.cuh"

namespace quern::mxfp8 {

// What put_matrix leaves in shared memory.
enum MatrixNumber { kMatrixRows, kMatrixCols, kMatrixUnit, kMatrixElement, kMatrixRowScales, kMatrixColScales, kFound };

// Of a group's matrix: its size in stacks of tiles, and in memory.
struct MatrixSize {
  i64 units;
  i64 elements;
  i64 row_scales;  // bytes
  i64 col_scales;
};

// With blocked scales the padding of the atoms is also written.
QUERN_DEVICE i64 stacks_across(i64 cols) {
  return ((spec::blocked ? round_up(cols, 128) : cols) + kTileColumns - 1) / kTileColumns;
}
QUERN_DEVICE i64 stacks_down(i64 rows) {
  constexpr i64 kStackRows = kStack * kTileRows;
  return (rows + kStackRows - 1) / kStackRows;
}

QUERN_DEVICE MatrixSize size_of(i64 rows, i64 cols) {
  const i64 across = (cols + 31) / 32, down = (rows + 31) / 32;
  const i64 row_scales = kWholeAtoms ? blocked_bytes(rows, across) : (kOnceASquare ? down : rows) * across;
  const i64 col_scales = kWholeAtoms ? blocked_bytes(cols, down) : (kOnceASquare ? across : cols) * down;
  return {stacks_down(rows) * stacks_across(cols), rows * cols, row_scales, col_scales};
}

// Of a lane's group: its rows, or its columns.
template <class P>
QUERN_DEVICE Group rows_of_group(const P& p, u32 index, i64 end_before) {
  if constexpr (!spec::varying_rows) return {0, p.rows, false};
  return group_of(ends_of(p), index, end_before);
}
template <class P>
QUERN_DEVICE Group cols_of_group(const P& p, u32 index, i64 end_before) {
  return group_of(GroupEnds<spec::Offset, spec::whole_groups>{p.col_offsets, p.status, p.cols, p.groups}, index,
                  end_before);
}

// By one warp, as put_group of mx/groups.cuh: finds the group of unit `unit` of all units.
template <class P>
QUERN_DEVICE Search put_matrix(const P& p, i64 unit, u8* numbers) {
  MatrixSize before = {};  // of the groups before
  i64 row_end = 0, col_end = 0;
  bool found = false;
  for (u32 first = 0; first < p.groups; first += 32) {
    const Group rows = rows_of_group(p, first + threadIdx.x, row_end);
    const Group cols = cols_of_group(p, first + threadIdx.x, col_end);
    const MatrixSize own = size_of(rows.rows, cols.rows);
    const MatrixSize then = {before.units + warp_prefix_sum(own.units), before.elements + warp_prefix_sum(own.elements),
                             before.row_scales + warp_prefix_sum(own.row_scales),
                             before.col_scales + warp_prefix_sum(own.col_scales)};
    const bool is_wrong = rows.wrong || cols.wrong || then.elements > p.elements;
    if (const u32 wrong = __ballot_sync(0xffffffffu, is_wrong); wrong != 0) {
      const u32 lowest = static_cast<u32>(__ffs(static_cast<int>(wrong))) - 1;
      if (blockIdx.x == 0 && threadIdx.x == lowest) store<4>(p.status, Vector<4>{{first + lowest + 1}});
      return Search::wrong;
    }
    if (unit < then.units && unit >= then.units - own.units) {
      const i64 matrix[] = {rows.rows,
                            cols.rows,
                            unit - (then.units - own.units),
                            then.elements - own.elements,
                            then.row_scales - own.row_scales,
                            then.col_scales - own.col_scales};
#pragma unroll
      for (int i = 0; i < kFound; ++i) put_number(numbers, i, matrix[i]);
      found = true;
    }
    before = {last_lane(then.units), last_lane(then.elements), last_lane(then.row_scales), last_lane(then.col_scales)};
    row_end = last_lane(rows.start + rows.rows);
    col_end = last_lane(cols.start + cols.rows);
  }
  return __any_sync(0xffffffffu, found) ? Search::found : Search::behind;
}

// By all threads: whether the block has work.
template <class P>
QUERN_DEVICE bool find_matrix(const P& p) {
  u8* const numbers = group_numbers();
  if (threadIdx.x < 32) {
    const Search search = put_matrix(p, blockIdx.x, numbers);
    if (threadIdx.x == 0) put_number(numbers, kFound, static_cast<i64>(search));
  }
  __syncthreads();
  return static_cast<Search>(number_at(numbers, kFound)) == Search::found;
}

// The parameters of the block's group alone.
template <class P>
QUERN_DEVICE P matrix_of_block(const P& p) {
  const u8* const numbers = group_numbers();
  const i64 element = number_at(numbers, kMatrixElement);
  P own = p;
  own.rows = number_at(numbers, kMatrixRows);
  own.cols = number_at(numbers, kMatrixCols);
  own.source_stride = own.cols;
  own.row_blocks = (own.cols + 31) / 32;
  own.col_blocks = (own.rows + 31) / 32;
  own.source = static_cast<const Source*>(p.source) + element;
  if constexpr (spec::row) {
    own.row_out = static_cast<u8*>(p.row_out) + element;
    own.row_scales = static_cast<u8*>(p.row_scales) + number_at(numbers, kMatrixRowScales);
  }
  if constexpr (spec::col) {
    own.col_out = static_cast<u8*>(p.col_out) + element;
    own.col_scales = static_cast<u8*>(p.col_scales) + number_at(numbers, kMatrixColScales);
  }
  own.across = static_cast<u32>(stacks_across(own.cols));
  own.down = static_cast<u32>(stacks_down(own.rows));
  own.panel = p.panel < own.across ? p.panel : own.across;
  own.unit = static_cast<u32>(number_at(numbers, kMatrixUnit));
  return own;
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_VARYING_CUH_
