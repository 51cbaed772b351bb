// Without pooling: a slot of out is one of a row.
#ifndef QUERN_EMBEDDING_ROWS_CUH_
#define QUERN_EMBEDDING_ROWS_CUH_

#include "embedding/pieces.cuh"

namespace quern::embedding {

// All ids are read before the first is waited for, then all rows.
template <class T>
QUERN_DEVICE void make_slots(const Params& p, const Lane& lane, const Source& source, u32 number, OutSlots& out) {
  constexpr int kRows = spec::tile_rows;
  spec::Index ids[kRows];
  Piece<T> pieces[kRows];
  Report report;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const auto* const row = static_cast<const u8*>(p.index) + lane.row(i) * p.index_stride;
    ids[i] = load_id(row, number, lane.has(i));
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const u64 position = static_cast<u64>(lane.row(i)) * p.number_of_tables + number;
    pieces[i].read(source, lane.column, row_of(source, ids[i], position, lane.has(i), report));
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) out[i] = pieces[i].as_out();
  report.write(p, source);
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_ROWS_CUH_
