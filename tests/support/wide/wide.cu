// Block b copies the values into dynamic shared memory, backwards from its end, and gives the one numbered b. A
// cooperative launch gives it when all blocks have arrived, so it ends only where all run at once.
#include "common/numbers.cuh"
#include "common/shared.cuh"
#include "common/sync.cuh"
#include "common/vector.cuh"
#include "spec.cuh"
#include "wide/params.h"

namespace quern::wide {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

QUERN_DEVICE void* place(u32 number) { return dynamic_shared() + spec::shared_bytes - 4 * (number + 1); }

QUERN_DEVICE void run(const Params& p) {
  for (u32 i = threadIdx.x; i < kValues; i += blockDim.x) store_shared<4>(place(i), bit_cast<Vector<4>>(p.values[i]));
  __syncthreads();
  if (threadIdx.x != 0) return;
  if constexpr (spec::cooperative) {
    atomicAdd(p.arrived, 1u);
    while (atomicAdd(p.arrived, 0u) < p.blocks) {
    }
  }
  const auto value = load_shared<4>(place(blockIdx.x % kValues));
  store<4>(p.out + blockIdx.x, value);
}

}  // namespace quern::wide

extern "C" __global__ void __launch_bounds__(64) quern_wide(const __grid_constant__ quern::wide::Params params) {
  quern::wide::run(params);
}
