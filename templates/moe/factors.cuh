// A factor for each token, or for each of its routes: rows are multiplied in fp32 and rounded once, before they are
// written or quantized.
#ifndef QUERN_MOE_FACTORS_CUH_
#define QUERN_MOE_FACTORS_CUH_

#include "common/numbers.cuh"
#include "moe/rows.cuh"

namespace quern::moe {

constexpr bool kRouteFactors = spec::route_factors;
constexpr int kFactor = static_cast<int>(sizeof(spec::Factor));  // bytes

QUERN_DEVICE float to_factor(const Vector<kFactor>& bits) { return to_float(bit_cast<spec::Factor>(bits)); }
QUERN_DEVICE float factor_at(const Params& p, u64 at) {
  return to_factor(load<kFactor, LoadHint::keep>(static_cast<const spec::Factor*>(p.factors) + at));
}

// Of routes first, first + 1, … of a token.
QUERN_DEVICE Factors load_factors(const Params& p, u64 token, u32 first) {
  Factors factors;
  if constexpr (kRouteFactors) {
    Vector<kFactor> bits[kBatch] = {};
    load_entries<kFactor>(p.factors, token, first, bits);
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) factors.of[i] = to_factor(bits[i]);
  }
  return factors;
}
QUERN_DEVICE float route_factor(const Params& p, u64 route) { return kRouteFactors ? factor_at(p, route) : 1; }
QUERN_DEVICE float token_factor(const Params& p, u64 token) { return kRouteFactors ? 1 : factor_at(p, token); }

QUERN_DEVICE void multiply(float factor, Vector<kVector> (&values)[kUnroll]) {
  using Element = spec::Element;
  constexpr int kElements = kVector / static_cast<int>(sizeof(Element));
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    float products[kElements];
    unpack<Element, kElements>(values[i], products);
#pragma unroll
    for (int e = 0; e < kElements; ++e) products[e] *= factor;
    values[i] = pack<Element, kElements>(products);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_FACTORS_CUH_
