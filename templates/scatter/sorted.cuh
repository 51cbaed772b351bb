// The positions of index in the order of the rows that they name, `order`. Equal ones are a segment.
#ifndef QUERN_SCATTER_SORTED_CUH_
#define QUERN_SCATTER_SORTED_CUH_

#include "rows/runs.cuh"
#include "scatter/lanes.cuh"

namespace quern::scatter {

QUERN_DEVICE u64 position_at(const Params& p, i64 place) { return load<4, LoadHint::keep>(p.order + place).w[0]; }

// The row at a place in the order.
QUERN_DEVICE i64 row_at(const Params& p, i64 place) {
  if (place < 0) return kBeforeAll;
  if (place >= p.count) return kAfterAll;
  const i64 row = index_at(p, position_at(p, place));
  if constexpr (spec::skips) return row < 0 || row >= p.rows ? kAfterAll : row;
  return row;
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_SORTED_CUH_
