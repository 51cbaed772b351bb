// The parameters with the image's offsets.
#ifndef QUERN_ROPE_KERNEL_PARAMS_CUH_
#define QUERN_ROPE_KERNEL_PARAMS_CUH_

#include "common/device.cuh"
#include "rope/params.h"
#include "spec.cuh"

namespace quern::rope {

using Params = ParamsOf<spec::offsets>;
using Tensor = TensorOf<spec::offsets>;
using ScaledParams = ScaledParamsOf<spec::offsets>;

}  // namespace quern::rope

#endif  // QUERN_ROPE_KERNEL_PARAMS_CUH_
