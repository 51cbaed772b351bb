// The kernel. The spec includes the part that has `run`: glu/plain.cuh, glu/tile.cuh where there are sums,
// glu/blocks.cuh, glu/row.cuh or glu/matrix.cuh where results are quantized.
#include "glu/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::glu::KernelParams) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, quern::spec::resident_blocks)
    quern_glu(const __grid_constant__ quern::glu::KernelParams params) {
  quern::glu::run(params);
}
