// The kernel. The spec chooses its form: it includes rows.cuh or pooled.cuh, which make slots of out, and plain.cuh or
// quantized.cuh, which write them.
#include "common/numbers.cuh"
#include "embedding/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::embedding::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads, quern::spec::resident_blocks)
    quern_embedding(const __grid_constant__ quern::embedding::Params params) {
  quern::embedding::fill_out(params);
}
