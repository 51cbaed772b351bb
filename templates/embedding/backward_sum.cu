// The sums of the gradients of each row that ids name, and what becomes of them. All blocks are co-resident: at the end
// they clear what the sort has left, when none of them reads it any more.
#include "embedding/backward_dense.cuh"
#include "embedding/backward_runs.cuh"

static_assert(sizeof(quern::embedding::SumParams) == quern::spec::params_bytes,
              "host and device disagree about SumParams");

namespace quern::embedding {

QUERN_DEVICE void clear_workspace(const SumParams& p) {
  grid_barrier(p.barrier);
  for (u64 i = thread_of_grid(); i < p.cleared_words; i += threads_of_grid()) store<4>(p.cleared + i, Vector<4>{});
  if (gridDim.x == 1 || threadIdx.x > 0) return;
  if (add_relaxed(true, p.ended, 1) + 1 != gridDim.x) return;
  store_relaxed(p.ended, 0);
  store_relaxed(p.barrier, 0);
}

}  // namespace quern::embedding

extern "C" __global__ void __launch_bounds__(quern::spec::threads, quern::spec::resident)
    quern_embedding_sum(const __grid_constant__ quern::embedding::SumParams params) {
  using namespace quern::embedding;
  sum_runs(params);
  copy_dense(params);
  clear_workspace(params);
}
