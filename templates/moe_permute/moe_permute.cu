// The kernel. The spec includes one of moe/dispatch.cuh, moe/dispatch_row.cuh, moe/dispatch_blocked.cuh,
// moe/combine.cuh and moe/factor_gradient.cuh, the forms of move_rows.
#include "moe_permute/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::moe_permute::Params) == quern::spec::params_bytes, "host and device disagree about Params");

// Without the second bound where it does not matter: even 1 changes how ptxas uses registers.
#ifdef QUERN_MOE_RESIDENT_BLOCKS
#define QUERN_MOE_BOUNDS __launch_bounds__(quern::spec::max_threads, QUERN_MOE_RESIDENT_BLOCKS)
#else
#define QUERN_MOE_BOUNDS __launch_bounds__(quern::spec::max_threads)
#endif

extern "C" __global__ void QUERN_MOE_BOUNDS
quern_moe_permute(const __grid_constant__ quern::moe_permute::Params params) {
  quern::moe::move_rows(params);
}
