// The kernel. The spec chooses its form: it includes direct.cuh or staged.cuh.
#include "concat/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::concat::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_concat(const __grid_constant__ quern::concat::Params params) {
  quern::concat::move_tile(params);
}
