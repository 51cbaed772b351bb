// The kernel. The spec includes tokens.cuh or counts.cuh, the forms of map_tokens.
#include "moe_map/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::moe_map::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, 1)
    quern_moe_map(const __grid_constant__ quern::moe_map::Params params) {
  quern::moe_map::map_tokens(params);
}
