// What the kernels that move rows by an index share: hints, and bits of a row of source.
#ifndef QUERN_ROWS_SOURCE_CUH_
#define QUERN_ROWS_SOURCE_CUH_

#include "common/slots.cuh"
#include "common/vector.cuh"
#include "spec.cuh"

namespace quern::rows {

using namespace common;

constexpr LoadHint kLoad = spec::load_once ? LoadHint::once : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

struct SourceRow {
  const u8* data;
  bool zero;  // nothing is read, and there may be no data
  QUERN_DEVICE const u8* at(i64 byte) const {
    return reinterpret_cast<const u8*>(reinterpret_cast<u64>(data) + static_cast<u64>(byte));
  }
};

// Of a row among those that index has for all matrices (out of a gather, source of a scatter): the matrix, and the
// position in index.
struct Place {
  u64 outer;
  u64 position;
};

template <class Params>
QUERN_DEVICE Place place_of(const Params& p, u64 row) {
  if constexpr (!spec::outer) return {0, row};
  const u64 outer = divide(row, p.by_count);
  return {outer, row - outer * static_cast<u64>(p.count)};
}

// The rows of a thread's slots; of a slot after the last one a zero row. All indices are read before the first is
// waited for: with a branch a slot, each was read after the one before it had come.
template <class Rows, class Params>
QUERN_DEVICE void find_rows(const Params& p, const Tile<spec::unroll>& tile, SourceRow (&rows)[spec::unroll]) {
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    rows[i] = Rows::source(p, slot.row, slot.inside);
  }
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_SOURCE_CUH_
