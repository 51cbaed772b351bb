// The kernel. The spec includes one of moe/combine.cuh, moe/dispatch.cuh and moe/combine_gradient.cuh, the forms of
// move_rows.
#include "moe_unpermute/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::moe_unpermute::Params) == quern::spec::params_bytes,
              "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_moe_unpermute(const __grid_constant__ quern::moe_unpermute::Params params) {
  quern::moe::move_rows(params);
}
