// The kernel. The spec chooses its parts: it includes one of scale.cuh and no_scale.cuh, and one of rows/vectors.cuh,
// rows/windows.cuh and packed.cuh, the forms of move_rows.
#include "gather/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::gather::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_gather(const __grid_constant__ quern::gather::Params params) {
  quern::gather::move_rows<quern::gather::Rows>(params);
}
