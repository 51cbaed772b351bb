// A thread an element of out, in a grid-stride loop.
#include "common/vector.cuh"
#include "generated/formula.cuh"
#include "joined/params.h"
#include "spec.cuh"

namespace quern::joined {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

QUERN_DEVICE void run(const Params& p) {
  const i64 width = p.first[spec::sources];
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < p.rows * width; i += step) {
    const i64 row = i / width, column = i % width;
    int s = 0;
    while (column >= p.first[s + 1]) ++s;
    const i64 at = row * (p.first[s + 1] - p.first[s]) + column - p.first[s];
    const float x = bit_cast<float>(load<4>(p.sources[s] + at));
    store<4>(p.out + i, bit_cast<Vector<4>>(formula(x) + static_cast<float>(p.add)));
  }
}

}  // namespace quern::joined

extern "C" __global__ void __launch_bounds__(128) quern_joined(const __grid_constant__ quern::joined::Params params) {
  quern::joined::run(params);
}
