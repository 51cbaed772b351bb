// What the kernels of the backward pass share: the rows that belong to one of source, and what becomes of a sum.
#ifndef QUERN_SCATTER_BACKWARD_CUH_
#define QUERN_SCATTER_BACKWARD_CUH_

#include "scatter/factor.cuh"
#include "scatter/lanes.cuh"

namespace quern::scatter {

constexpr i64 kNoRow = -1;

// The row of out where a row of source went; kNoRow if it was skipped.
QUERN_DEVICE i64 named_row(const Params& p, u64 number) {
  const Place place = place_of(p, number);
  const i64 row = index_at(p, place.position);
  if (spec::skips && (row < 0 || row >= p.rows)) return kNoRow;
  return spec::outer ? row + static_cast<i64>(place.outer) * p.rows : row;
}

QUERN_DEVICE const u8* gradient_row(const Params& p, i64 row) {
  return static_cast<const u8*>(p.gradient) + row * p.out_stride;
}
QUERN_DEVICE u8* source_gradient_row(const Params& p, u64 number) {
  return static_cast<u8*>(p.source_gradient) + static_cast<i64>(number) * p.source_stride;
}

QUERN_DEVICE void store_scale_gradient(const Params& p, i64 at, float sum) {
  using Scale = spec::Scale;
  const Scale value = from_compute<Scale>(spec::alpha ? p.alpha * sum : sum);
  store<sizeof(Scale)>(static_cast<Scale*>(p.scale_gradient) + at, bit_cast<Vector<sizeof(Scale)>>(value));
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_BACKWARD_CUH_
