// Rows move as they are.
#ifndef QUERN_MOE_NO_FACTORS_CUH_
#define QUERN_MOE_NO_FACTORS_CUH_

#include "moe/rows.cuh"

namespace quern::moe {

constexpr bool kRouteFactors = false;

QUERN_DEVICE Factors load_factors(const Params&, u64, u32) { return {}; }
QUERN_DEVICE float route_factor(const Params&, u64) { return 1; }
QUERN_DEVICE float token_factor(const Params&, u64) { return 1; }
QUERN_DEVICE void multiply(float, Vector<kVector> (&)[kUnroll]) {}

}  // namespace quern::moe

#endif  // QUERN_MOE_NO_FACTORS_CUH_
