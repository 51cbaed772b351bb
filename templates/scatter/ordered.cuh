// Rows in the order of their indices. A warp has a part of the rows at spec::positions places, or of a block of rows
// that may have no index.
#ifndef QUERN_SCATTER_ORDERED_CUH_
#define QUERN_SCATTER_ORDERED_CUH_

#include "scatter/zeros.cuh"

namespace quern::scatter {

QUERN_DEVICE void put_number(const Params& p, u64 number, const Part& part) {
  if constexpr (spec::zeroes) {
    if (number >= p.windows) return clear_block(p, static_cast<i64>(number - p.windows), part);
  }
  const SortedWindow window = window_at<spec::adds>(p, static_cast<i64>(number) * spec::positions);
  if constexpr (spec::zeroes) clear_gaps(p, window, part);
  put_window(p, window, part);
}

// The parameters of one of several matrices.
QUERN_DEVICE Params of_matrix(const Params& p, u64 outer) {
  Params own = p;
  const i64 number = static_cast<i64>(outer);
  own.source = static_cast<const u8*>(p.source) + number * p.count * p.source_stride;
  own.out = static_cast<u8*>(p.out) + number * p.rows * p.out_stride;
  own.sums.words += outer * p.words;
  own.sums.chunk_words += outer * p.words;
  own.sums.groups += outer * p.words;
  own.sums.chunks += outer * p.words;
  return own;
}

QUERN_DEVICE void scatter_rows(const Params& p) {
  const u64 item = static_cast<u64>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (item >= p.items) return;
  const u64 number = divide(item, p.by_parts);
  const Part part = {static_cast<u32>(item - number * p.parts)};
  if constexpr (spec::outer) {
    const u64 outer = divide(number, p.by_numbers);
    put_number(of_matrix(p, outer), number - outer * p.numbers, part);
  } else {
    put_number(p, number, part);
  }
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_ORDERED_CUH_
