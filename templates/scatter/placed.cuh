// Rows that are copied: their bits are stored as they are.
#ifndef QUERN_SCATTER_PLACED_CUH_
#define QUERN_SCATTER_PLACED_CUH_

#include "scatter/index.cuh"

namespace quern::scatter {

template <int Bytes>
QUERN_DEVICE Vector<Bytes> stored(const Params&, u64, u64, const Vector<Bytes>& value, const Vector<Bytes>&) {
  return value;
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_PLACED_CUH_
