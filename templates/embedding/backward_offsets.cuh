// From the position of an id to its bag.
#ifndef QUERN_EMBEDDING_BACKWARD_OFFSETS_CUH_
#define QUERN_EMBEDDING_BACKWARD_OFFSETS_CUH_

#include "common/numbers.cuh"
#include "embedding/params.h"
#include "spec.cuh"

namespace quern::embedding {

using namespace common;

QUERN_DEVICE i64 offset_of(const void* offsets, u32 bag) {
  using Offset = spec::Offset;
  return bit_cast<Offset>(load<sizeof(Offset), LoadHint::keep>(static_cast<const Offset*>(offsets) + bag));
}

// Of the numbers first, first + step, … before `end`, of which there is one, the last bag that begins at the position
// or before it; `first` if none does.
QUERN_DEVICE u32 last_bag(const void* offsets, i64 position, u32 first, u32 end, u32 step) {
  u32 below = 0, above = (end - first + step - 1) / step;
#pragma unroll 1
  while (above - below > 1) {
    const u32 middle = (below + above) / 2;
    const bool begun = offset_of(offsets, first + middle * step) <= position;
    below = begun ? middle : below;
    above = begun ? above : middle;
  }
  return first + below * step;
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_OFFSETS_CUH_
