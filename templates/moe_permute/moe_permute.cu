// The kernel. The spec includes one of moe/dispatch.cuh and moe/combine.cuh, the forms of move_rows.
#include "moe_permute/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::moe_permute::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_moe_permute(const __grid_constant__ quern::moe_permute::Params params) {
  quern::moe::move_rows(params);
}
