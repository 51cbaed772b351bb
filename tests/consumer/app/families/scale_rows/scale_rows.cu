// One block a row. Memory is reached through load and store of common/vector.cuh, so that the host driver can name the
// line of an access that is wrong.
#include "common/vector.cuh"
#include "scale_rows/params.h"
#include "spec.cuh"

extern "C" __global__ void __launch_bounds__(quern::spec::threads)
    quern_scale_rows(const __grid_constant__ app::scale_rows::Params params) {
  static_assert(sizeof(params) == quern::spec::params_bytes, "host and device disagree about Params");
  using namespace quern::common;
  const i64 row = params.width * blockIdx.x;
  const float scale = bit_cast<float>(load<4>(params.scale + blockIdx.x));
  for (i64 i = threadIdx.x; i < params.width; i += quern::spec::threads) {
    const float x = bit_cast<float>(load<4>(params.x + row + i));
    store<4>(params.out + row + i, bit_cast<Vector<4>>(x * scale));
  }
}
