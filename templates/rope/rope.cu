// The kernel. The spec chooses its parts: one of rope/table.cuh, rope/angles.cuh and rope/computed.cuh, where angles
// come from, and one of rope/heads.cuh, rope/staged.cuh and
// rope/scaled.cuh, the form.
#include "rope/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::rope::KernelParams) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_rope(const __grid_constant__ quern::rope::KernelParams params) {
  quern::rope::rotate(params);
}
