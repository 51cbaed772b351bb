// Rows that are added to those of out, each to one of its own.
#ifndef QUERN_SCATTER_ADDED_CUH_
#define QUERN_SCATTER_ADDED_CUH_

#include "scatter/factor.cuh"

namespace quern::scatter {

template <int Bytes>
QUERN_DEVICE Vector<Bytes> stored(const Params& p, u64 position, u64 byte, const Vector<Bytes>& value,
                                  const Vector<Bytes>& before) {
  constexpr int kElements = Bytes / static_cast<int>(sizeof(Element));
  float sums[kElements];
  unpack<Element, kElements>(value, sums);
  const float scale = row_scale(p, position);
#pragma unroll
  for (int i = 0; i < kElements; ++i) sums[i] = plus(kNothing, sums[i], scale);
  return added<Bytes>(p, static_cast<i64>(byte), sums, before);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_ADDED_CUH_
