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

// A row of source: the matrix that it is of, and its position in index.
struct Place {
  u64 outer;
  u64 position;
};

QUERN_DEVICE Place place_of(const Params& p, u64 row) {
  if constexpr (!spec::outer) return {0, row};
  const u64 outer = divide(row, p.by_count);
  return {outer, row - outer * static_cast<u64>(p.count)};
}

// Not inside: 0, and nothing is read.
QUERN_DEVICE i64 index_at(const Params& p, u64 position, bool inside = true) {
  using Index = spec::Index;
  const auto raw = load_if<sizeof(Index), LoadHint::keep>(inside, static_cast<const Index*>(p.index) + position);
  return bit_cast<Index>(raw);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_INDEX_CUH_
