// The kernel. The spec chooses its parts. Without order: one of placed.cuh and added.cuh, a form of templates/rows, and
// rows.cuh. With unique indices: one of the same two, and unique.cuh. With order: one of copies.cuh and sums.cuh, and
// ordered.cuh. Backward: gradients.cuh or dots.cuh.
#include "scatter/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::scatter::Params) == quern::spec::params_bytes, "host and device disagree about Params");

// Without the second bound where it does not matter: even 1 changes how ptxas uses registers.
#ifdef QUERN_SCATTER_RESIDENT_BLOCKS
#define QUERN_SCATTER_BOUNDS __launch_bounds__(quern::spec::max_threads, QUERN_SCATTER_RESIDENT_BLOCKS)
#else
#define QUERN_SCATTER_BOUNDS __launch_bounds__(quern::spec::max_threads)
#endif

extern "C" __global__ void QUERN_SCATTER_BOUNDS quern_scatter(const __grid_constant__ quern::scatter::Params params) {
  quern::scatter::scatter_rows(params);
}
