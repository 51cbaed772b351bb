// The kernel. The spec includes the part that has `run` and its parameters: pointwise/forward.cuh; of pass=backward
// pointwise/gradients.cuh, or pointwise/gradient_sums.cuh where there are sums.
#include "pointwise/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::pointwise::KernelParams) == quern::spec::params_bytes,
              "host and device disagree about Params");

// A persistent kernel asks for two such blocks per SM: else CUDA 12.9 limits itself to 40 registers on sm_120, for
// three blocks, and spills registers in the loop.
extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, quern::spec::persistent ? 2 : 0)
    quern_pointwise(const __grid_constant__ quern::pointwise::KernelParams params) {
  quern::pointwise::run(params);
}
