// One block a row.
#include "common/device.cuh"
#include "scale_rows/params.h"
#include "spec.cuh"

extern "C" __global__ void __launch_bounds__(quern::spec::threads)
    quern_scale_rows(const __grid_constant__ app::scale_rows::Params params) {
  static_assert(sizeof(params) == quern::spec::params_bytes, "host and device disagree about Params");
  const quern::common::i64 row = params.width * blockIdx.x;
  const float scale = params.scale[blockIdx.x];
  for (quern::common::i64 i = threadIdx.x; i < params.width; i += quern::spec::threads)
    params.out[row + i] = params.x[row + i] * scale;
}
