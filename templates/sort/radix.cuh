// A radix sort of pairs, least significant digit first. All of it is in one launch. Blocks wait for words of each
// other. A barrier of the grid, whose fences wait for all stores, is only where nothing else orders them.
#ifndef QUERN_SORT_RADIX_CUH_
#define QUERN_SORT_RADIX_CUH_

#include "sort/place.cuh"

namespace quern::sort {

template <class Params>
QUERN_DEVICE void sort_pairs(const Params& p) {
  const Slice slice = slice_of_warp(p);
#pragma unroll 1
  for (u32 number = 0; number < p.passes; ++number) {
    const Pass pass = pass_at(p, number);
    count_digits(p, pass, slice);
    publish_digits(p, pass);
    find_places(p, pass);
    clear_entries(p, pass);
    if (reuses_buffer(p, number)) grid_barrier(p.barrier);
    place_items(p, pass, slice);
  }
  clear_last_entries(p, pass_at(p, p.passes - 1));
}

}  // namespace quern::sort

#endif  // QUERN_SORT_RADIX_CUH_
