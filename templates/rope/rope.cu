// The kernel. The spec chooses its parts: one of rope/table.cuh and rope/computed.cuh, where angles come from, and
// rope/heads.cuh.
#include "rope/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::rope::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_rope(const __grid_constant__ quern::rope::Params params) {
  if (const auto slot = quern::rope::slot_of(params, blockIdx.x); slot.inside) quern::rope::rotate_heads(params, slot);
}
