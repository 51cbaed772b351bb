// The kernel. The spec includes the part that has `run` for its operation and form, with the parameters that it takes.
#include "common/vector.cuh"
#include "mxfp8/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::mxfp8::KernelParams) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, quern::spec::resident)
    quern_mxfp8(const __grid_constant__ quern::mxfp8::KernelParams params) {
  if constexpr (quern::spec::noop) {
    if (quern::common::bit_cast<float>(quern::common::load<4>(params.noop)) == 1.0f) return;
  }
  quern::mxfp8::run(params);
}
