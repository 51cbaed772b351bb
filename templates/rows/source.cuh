// What the kernels that move rows by an index share: hints, and bits of a row of source.
#ifndef QUERN_ROWS_SOURCE_CUH_
#define QUERN_ROWS_SOURCE_CUH_

#include "common/vector.cuh"
#include "spec.cuh"

namespace quern::rows {

using namespace common;

constexpr LoadHint kLoad = spec::load_once ? LoadHint::once : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

struct SourceRow {
  const u8* data;
  bool zero;  // nothing is read
};

}  // namespace quern::rows

#endif  // QUERN_ROWS_SOURCE_CUH_
