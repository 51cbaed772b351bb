// The kernel. The spec chooses its form: it includes one of the parts that define `interact`.
#include "interaction/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::interaction::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_interaction(const __grid_constant__ quern::interaction::Params params) {
  quern::interaction::interact(params);
}
