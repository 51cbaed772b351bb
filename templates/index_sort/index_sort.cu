// The kernel: a radix sort, least significant digit first. All of it is in one launch, whose blocks wait for each other
// between the steps of a pass.
#include "index_sort/place.cuh"

static_assert(sizeof(quern::index_sort::Params) == quern::spec::params_bytes, "host and device disagree about Params");

namespace quern::index_sort {

QUERN_DEVICE void sort(const Params& p) {
  const Slice slice = slice_of_warp(p);
#pragma unroll 1
  for (u32 number = 0; number < p.passes; ++number) {
    const Pass pass = pass_at(p, number);
    count_digits(p, pass, slice);
    publish_digits(p);
    grid_barrier(p.barrier);
    find_places(p);
    place_items(p, pass, slice);
    if (number + 1 < p.passes) grid_barrier(p.barrier);
  }
  clear_table(p);
}

}  // namespace quern::index_sort

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_index_sort(const __grid_constant__ quern::index_sort::Params params) {
  quern::index_sort::sort(params);
}
