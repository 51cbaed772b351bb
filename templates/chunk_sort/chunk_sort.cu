// The kernel: moe/reorder.cuh, which the spec includes.
#include "chunk_sort/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::chunk_sort::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_chunk_sort(const __grid_constant__ quern::chunk_sort::Params params) {
  quern::moe::move_rows(params);
}
