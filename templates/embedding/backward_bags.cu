// What the gradients need of a bag besides its offsets. The spec chooses what: it includes backward_counts.cuh,
// backward_winners.cuh or backward_dots.cuh.
#include "common/numbers.cuh"
#include "embedding/backward_params.cuh"
#include "spec.cuh"

static_assert(sizeof(quern::embedding::BagParams) == quern::spec::params_bytes,
              "host and device disagree about BagParams");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_embedding_bags(const __grid_constant__ quern::embedding::BagParams params) {
  using namespace quern::embedding;
  const u32 group = blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  if (group == 0 || group < params.bags) read_bag(params, group);
}
