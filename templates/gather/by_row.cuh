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

// Calls body(i, column) for the lane's next `unroll` columns of a row.
template <class Body>
QUERN_DEVICE void for_columns(u32 first, u32 columns, const Body& body) {
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u32 column = first + static_cast<u32>(i) * kRowThreads;
    body(i, column, column < columns);
  }
}

QUERN_DEVICE void move_row(const Params& p, const RowPlace& place);

// slots.count is of lanes.
template <class>
QUERN_DEVICE void move_rows(const Params& p) {
  const u64 thread = static_cast<u64>(blockIdx.x) * p.slots.threads + threadIdx.x, row = thread / kRowThreads;
  if (thread >= p.slots.count) return;
  move_row(p, {row, resolve(p, row), Rows::out(p, row), static_cast<u32>(thread) % kRowThreads});
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_BY_ROW_CUH_
