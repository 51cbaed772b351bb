// What is sorted: indices, and their positions.
#ifndef QUERN_INDEX_SORT_KEYS_CUH_
#define QUERN_INDEX_SORT_KEYS_CUH_

#include "common/vector.cuh"
#include "index_sort/params.h"
#include "spec.cuh"

namespace quern::index_sort {

using namespace common;

// Indices outside of [0, rows) are sorted after all others.
QUERN_DEVICE u32 key_at(const Params& p, u32 position) {
  using Index = spec::Index;
  const i64 index = bit_cast<Index>(load<sizeof(Index)>(static_cast<const Index*>(p.index) + position));
  return static_cast<u32>(index < 0 || index >= p.rows ? p.rows : index);
}
QUERN_DEVICE u32 value_at(const Params&, u32 position) { return position; }

}  // namespace quern::index_sort

#endif  // QUERN_INDEX_SORT_KEYS_CUH_
