// The kernel. The spec includes the part that has `run` and its parameters: pointwise/forward.cuh; of pass=backward
// pointwise/gradients.cuh, or pointwise/gradient_sums.cuh where there are sums.
#include "pointwise/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::pointwise::KernelParams) == quern::spec::params_bytes,
              "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, quern::spec::resident_blocks)
    quern_pointwise(const __grid_constant__ quern::pointwise::KernelParams params) {
  quern::pointwise::run(params);
}
