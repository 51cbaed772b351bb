// A lane's part of a row that vectors divide.
#ifndef QUERN_GATHER_ROW_VECTORS_CUH_
#define QUERN_GATHER_ROW_VECTORS_CUH_

#include "gather/by_row.cuh"

namespace quern::gather {

QUERN_DEVICE bool has_part(const Params& p, u32 lane) { return lane < p.slots.per_row; }

QUERN_DEVICE void move_row(const Params& p, const RowPlace& place) {
  constexpr int kBytes = spec::vector;
  u32 first = place.lane;
#pragma unroll 1
  do {
    Vector<kBytes> values[spec::unroll];
    for_columns(first, p.slots.per_row, [&](int i, u32 column, bool inside) {
      values[i] = load_if<kBytes, kLoad>(inside && !place.source.zero, place.source.at(i64{column} * kBytes));
    });
    for_columns(first, p.slots.per_row, [&](int i, u32 column, bool inside) {
      if (inside) store<kBytes, kStore>(place.out + i64{column} * kBytes, scaled(p, place.row, values[i]));
    });
    first += kRowThreads * spec::unroll;
  } while (first < p.slots.per_row);
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_ROW_VECTORS_CUH_
