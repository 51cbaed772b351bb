// A lane's part of a row that vectors divide.
#ifndef QUERN_GATHER_ROW_VECTORS_CUH_
#define QUERN_GATHER_ROW_VECTORS_CUH_

#include "gather/by_row.cuh"

namespace quern::gather {

QUERN_DEVICE void move_row(const Params& p, const RowPlace& place) {
  constexpr int kBytes = spec::vector;
#pragma unroll 1
  for (u32 first = place.lane; first < p.slots.per_row; first += kRowThreads * spec::unroll) {
    Vector<kBytes> values[spec::unroll];
    for_columns(first, p.slots.per_row, [&](int i, u32 column, bool inside) {
      values[i] = load_if<kBytes, kLoad>(inside && !place.source.zero, place.source.at(i64{column} * kBytes));
    });
    for_columns(first, p.slots.per_row, [&](int i, u32 column, bool inside) {
      if (inside) store<kBytes, kStore>(place.out + i64{column} * kBytes, scaled(p, place.row, values[i]));
    });
  }
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_ROW_VECTORS_CUH_
