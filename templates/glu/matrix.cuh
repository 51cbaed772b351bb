// Results quantized along columns, or both ways.
#include "glu/numbers.cuh"
#include "mxfp8/tile.cuh"

namespace quern::glu {

using KernelParams = mxfp8::KernelParams;

QUERN_DEVICE void run(const KernelParams& p) { mxfp8::run(p); }

}  // namespace quern::glu
