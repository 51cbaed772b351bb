// What both steps do: a thread adds up one chunk, in order.
#include "common/vector.cuh"
#include "spec.cuh"
#include "two_stage/params.h"

namespace quern::two_stage {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

constexpr int kElements = spec::vector / 4;

QUERN_DEVICE float sum_of(const float* x, i64 count) {
  float sum = 0;
  i64 i = 0;
  for (; i + kElements <= count; i += kElements) {
    struct Floats {
      float values[kElements];
    };
    const auto floats = bit_cast<Floats>(load<spec::vector>(x + i));
    for (int e = 0; e < kElements; ++e) sum += floats.values[e];
  }
  for (; i < count; ++i) sum += bit_cast<float>(load<4>(x + i));
  return sum;
}

QUERN_DEVICE void run(const Params& p) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 c = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; c * p.length < p.count; c += step) {
    const i64 begin = c * p.length, left = p.count - begin;
    const float sum = sum_of(p.x + begin, left < p.length ? left : p.length);
    store<4>(p.sums + c, bit_cast<Vector<4>>(sum));
  }
}

}  // namespace quern::two_stage
