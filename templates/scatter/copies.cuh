// Rows that are copied in the order of their indices: of equal ones the last is.
#ifndef QUERN_SCATTER_COPIES_CUH_
#define QUERN_SCATTER_COPIES_CUH_

#include "scatter/columns.cuh"
#include "scatter/sorted.cuh"

namespace quern::scatter {

QUERN_DEVICE void copy_part(const Params& p, i64 place, const Part& part) {
  const u64 position = position_at(p, place);
  const u8* const row = source_row(p, position);
  const OutRow out = {out_row(p, index_at(p, position))};
  Column columns[kUnroll];
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const i64 byte = out.byte(part.column(i));
    if (byte < p.row_bytes) read(p, row, byte, columns[i]);
  }
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const i64 byte = out.byte(part.column(i));
    if (byte < p.row_bytes) write(p, out, byte, columns[i].value());
  }
}

QUERN_DEVICE void put_window(const Params& p, const SortedWindow& window, const Part& part) {
  const u32 last = static_cast<u32>(window.heads >> 1) & __ballot_sync(0xffffffffu, is_row(window.row)) & kOwnPlaces;
#pragma unroll 1
  for (u32 left = without_lowest(last, group_of_warp()); left != 0; left = without_lowest(left, kGroups))
    copy_part(p, window.first + lowest(left), part);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_COPIES_CUH_
