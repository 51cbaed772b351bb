// The kernel: a radix sort, least significant digit first. All of it is in one launch. Blocks wait for words of each
// other. A barrier of the grid, whose fences wait for all stores, is only where nothing else orders them.
#include "index_sort/place.cuh"

static_assert(sizeof(quern::index_sort::Params) == quern::spec::params_bytes, "host and device disagree about Params");

namespace quern::index_sort {

QUERN_DEVICE void sort(const Params& p) {
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

}  // namespace quern::index_sort

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_index_sort(const __grid_constant__ quern::index_sort::Params params) {
  quern::index_sort::sort(params);
}
