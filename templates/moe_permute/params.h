// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_MOE_PERMUTE_PARAMS_H_
#define QUERN_MOE_PERMUTE_PARAMS_H_

#include "moe/params.cuh"

namespace quern::moe_permute {

using Params = moe::Params;

}  // namespace quern::moe_permute

#endif  // QUERN_MOE_PERMUTE_PARAMS_H_
