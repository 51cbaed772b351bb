// Rows are written as they were read.
#ifndef QUERN_MOE_KEEP_CUH_
#define QUERN_MOE_KEEP_CUH_

#include "moe/rows.cuh"

namespace quern::moe {

constexpr bool kBlocked = false;
constexpr int kOutVector = kVector;  // bytes of out for each vector of source

struct KeptPart {
  Vector<kOutVector> elements[kUnroll];
};

QUERN_DEVICE KeptPart make(const Params&, const Vector<kVector> (&values)[kUnroll]) {
  KeptPart made;
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) made.elements[i] = values[i];
  return made;
}

QUERN_DEVICE void store_made_scales(const Params&, const Part&, u32, bool, const KeptPart&) {}
QUERN_DEVICE void clear_made_scales(const Params&, u32) {}

}  // namespace quern::moe

#endif  // QUERN_MOE_KEEP_CUH_
