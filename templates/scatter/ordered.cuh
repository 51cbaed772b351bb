// Rows in the order of their indices. A warp has a part of the rows at spec::positions places, or of a block of rows
// that may have no index.
#ifndef QUERN_SCATTER_ORDERED_CUH_
#define QUERN_SCATTER_ORDERED_CUH_

#include "scatter/zeros.cuh"

namespace quern::scatter {

QUERN_DEVICE void scatter_rows(const Params& p) {
  const u64 item = static_cast<u64>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (item >= p.items) return;
  const u64 number = divide(item, p.by_parts);
  const Part part = {static_cast<u32>(item - number * p.parts)};
  if constexpr (spec::zeroes) {
    if (number >= p.windows) return clear_block(p, static_cast<i64>(number - p.windows), part);
  }
  const Window window = window_at(p, static_cast<i64>(number) * spec::positions);
  if constexpr (spec::zeroes) clear_gaps(p, window, part);
  put_window(p, window, part);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_ORDERED_CUH_
