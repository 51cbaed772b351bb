// The kernel: a sort of the indices, with their positions.
#include "index_sort/keys.cuh"
#include "sort/radix.cuh"

static_assert(sizeof(quern::index_sort::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_index_sort(const __grid_constant__ quern::index_sort::Params params) {
  quern::sort::sort_pairs(params);
}
