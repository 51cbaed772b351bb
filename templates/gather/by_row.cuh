// A row of out is of `row_threads` adjacent threads, which are lanes 0, 1, .. of it. Its index is read once, and
// nothing is divided: few rows wait for little else than the index and the row. The spec includes one of
// row_vectors.cuh and row_windows.cuh, whose move_row moves a lane's part.
#ifndef QUERN_GATHER_BY_ROW_CUH_
#define QUERN_GATHER_BY_ROW_CUH_

#include "gather/rows.cuh"

namespace quern::gather {

constexpr u32 kRowThreads = spec::row_threads;

struct RowPlace {
  u64 row;
  SourceRow source;
  u8* out;
  u32 lane;
};

// Calls body(i, column, whether the row has it) for the lane's next `unroll` columns of a row, which has the first one.
template <class Body>
QUERN_DEVICE void for_columns(u32 first, u32 columns, const Body& body) {
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u32 column = first + static_cast<u32>(i) * kRowThreads;
    body(i, column, i == 0 || column < columns);
  }
}

// Whether the lane has a part of any row.
QUERN_DEVICE bool has_part(const Params& p, u32 lane);
QUERN_DEVICE void move_row(const Params& p, const RowPlace& place);

// A lane without a part leaves before it reads: in a small problem each instruction of each thread is time (on an H200,
// 2.41 us for 2.31 where all lanes went on, without a branch).
template <class>
QUERN_DEVICE void move_rows(const Params& p) {
  const u64 thread = static_cast<u64>(blockIdx.x) * p.slots.threads + threadIdx.x, row = opaque(thread / kRowThreads);
  const u32 lane = static_cast<u32>(thread) % kRowThreads;
  if (row >= p.out_rows || !has_part(p, lane)) return;
  move_row(p, {row, resolve(p, row), Rows::out(p, row), lane});
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_BY_ROW_CUH_
