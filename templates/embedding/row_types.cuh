// The types that a table may have.
#ifndef QUERN_EMBEDDING_ROW_TYPES_CUH_
#define QUERN_EMBEDDING_ROW_TYPES_CUH_

#include "common/numbers.cuh"
#include "embedding/params.h"
#include "spec.cuh"

namespace quern::embedding {

using namespace common;

// Calls body with a value of the table's type.
template <class Body>
QUERN_DEVICE void with_type(u32 type, const Body& body) {
  constexpr bool kMixed = (spec::types & (spec::types - 1)) != 0;
  if constexpr (((spec::types >> kF32) & 1) != 0) {
    if (!kMixed || type == kF32) return body(float{});
  }
  if constexpr (((spec::types >> kF16) & 1) != 0) {
    if (!kMixed || type == kF16) return body(Fp16{});
  }
  if constexpr (((spec::types >> kBf16) & 1) != 0) {
    if (!kMixed || type == kBf16) return body(Bf16{});
  }
  if constexpr (((spec::types >> kE4m3) & 1) != 0) {
    if (!kMixed || type == kE4m3) return body(E4m3{});
  }
  if constexpr (((spec::types >> kE5m2) & 1) != 0) {
    if (!kMixed || type == kE5m2) return body(E5m2{});
  }
  if constexpr (((spec::types >> kInt8) & 1) != 0) {
    if (!kMixed || type == kInt8) return body(Int8{});
  }
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_ROW_TYPES_CUH_
