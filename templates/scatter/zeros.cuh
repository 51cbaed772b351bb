// Rows of out that no index names. Rows are taken in blocks of kRowsOfBlock. A warp looks for a row of each block among
// the indices, and clears the block if there is none. In the others the warp with the first place of a
// segment clears the rows between that segment and the one before it.
#ifndef QUERN_SCATTER_ZEROS_CUH_
#define QUERN_SCATTER_ZEROS_CUH_

#include "scatter/columns.cuh"
#include "scatter/sorted.cuh"

namespace quern::scatter {

constexpr i64 kRowsOfBlock = spec::rows_of_block;

QUERN_DEVICE void clear_rows(const Params& p, i64 begin, i64 end, const Part& part) {
#pragma unroll 1
  for (i64 row = begin + group_of_warp(); row < end; row += kGroups) {
    const OutRow out = {out_row(p, row)};
#pragma unroll
    for (u32 i = 0; i < kUnroll; ++i) {
      const i64 byte = out.byte(part.column(i));
      if (byte < p.row_bytes) write(p, out, byte, Vector<kVector>{});
    }
  }
}

QUERN_DEVICE void clear_block(const Params& p, i64 block, const Part& part) {
  const i64 begin = block * kRowsOfBlock, end = begin + kRowsOfBlock < p.rows ? begin + kRowsOfBlock : p.rows;
  if (row_at(p, first_at_least(p, begin, 0, p.count)) >= end) clear_rows(p, begin, end, part);
}

// The rows between two that have indices, or all before the first, or after the last.
QUERN_DEVICE void clear_between(const Params& p, i64 begin, i64 end, const Part& part) {
  const i64 block_end = begin == 0 ? 0 : (begin - 1) / kRowsOfBlock * kRowsOfBlock + kRowsOfBlock;
  const i64 block_begin = end == p.rows ? end : end / kRowsOfBlock * kRowsOfBlock;
  if (block_end >= block_begin) return clear_rows(p, begin, end, part);
  clear_rows(p, begin, block_end < end ? block_end : end, part);
  clear_rows(p, block_begin > begin ? block_begin : begin, end, part);
}

QUERN_DEVICE void clear_gaps(const Params& p, const SortedWindow& window, const Part& part) {
  const i64 begin = window.before == kAfterAll ? kAfterAll : window.before + 1,
            end = window.row == kAfterAll ? p.rows : window.row;
  const bool gap = window.row != window.before && begin < end;
#pragma unroll 1
  for (u32 left = __ballot_sync(0xffffffffu, gap) & kOwnPlaces; left != 0; left = without_lowest(left, 1)) {
    const int at = static_cast<int>(lowest(left));
    clear_between(p, __shfl_sync(0xffffffffu, begin, at), __shfl_sync(0xffffffffu, end, at), part);
  }
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_ZEROS_CUH_
