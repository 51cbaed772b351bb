// The rows that positions of index name.
#ifndef QUERN_SCATTER_INDEX_CUH_
#define QUERN_SCATTER_INDEX_CUH_

#include "rows/source.cuh"
#include "scatter/params.h"

namespace quern::scatter {

using namespace rows;

QUERN_DEVICE const u8* source_row(const Params& p, u64 position) {
  return static_cast<const u8*>(p.source) + static_cast<i64>(position) * p.source_stride;
}
QUERN_DEVICE u8* out_row(const Params& p, i64 row) { return static_cast<u8*>(p.out) + row * p.out_stride; }

// Not inside: 0, and nothing is read.
QUERN_DEVICE i64 index_at(const Params& p, u64 position, bool inside = true) {
  using Index = spec::Index;
  const auto raw = load_if<sizeof(Index), LoadHint::keep>(inside, static_cast<const Index*>(p.index) + position);
  return bit_cast<Index>(raw);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_INDEX_CUH_
