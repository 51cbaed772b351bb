// The ids of all tables by the rows that they name: keys and values are made on the fly in the first pass.
#include "embedding/backward_keys.cuh"
#include "sort/radix.cuh"

static_assert(sizeof(quern::embedding::SortParams) == quern::spec::params_bytes,
              "host and device disagree about SortParams");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_embedding_sort(const __grid_constant__ quern::embedding::SortParams params) {
  quern::embedding::copy_tables(params);
  quern::sort::sort_pairs(params);
}
