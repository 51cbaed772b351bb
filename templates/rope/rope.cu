// The kernel. The spec chooses its parts: one of rope/table.cuh and rope/computed.cuh, where angles come from, and
// rope/heads.cuh.
#include "rope/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::rope::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_rope(const __grid_constant__ quern::rope::Params params) {
  using namespace quern::common;
  const Tile<1> tile(params.slots, static_cast<u64>(blockIdx.x) * blockDim.x);
  if (const Slot slot = tile[0]; slot.inside) quern::rope::rotate_heads(params, slot);
}
