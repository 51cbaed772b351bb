// The kernel. The spec chooses its parts. Without order: one of placed.cuh and added.cuh, a form of templates/rows, and
// rows.cuh. With order: one of copies.cuh and sums.cuh, and ordered.cuh. Backward: gradients.cuh or dots.cuh.
#include "scatter/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::scatter::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_scatter(const __grid_constant__ quern::scatter::Params params) {
  quern::scatter::scatter_rows(params);
}
