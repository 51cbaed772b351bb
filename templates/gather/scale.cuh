#ifndef QUERN_GATHER_SCALE_CUH_
#define QUERN_GATHER_SCALE_CUH_

#include "common/numbers.cuh"
#include "gather/rows.cuh"

namespace quern::gather {

// A row's scale applied to a vector of its elements.
template <int Bytes>
QUERN_DEVICE Vector<Bytes> scaled(const Params& p, u64 row, const Vector<Bytes>& vector) {
  using Element = spec::Element;
  constexpr int kElements = Bytes / sizeof(Element);
  using Scale = spec::Scale;
  const auto raw = load<sizeof(Scale), LoadHint::keep>(static_cast<const Scale*>(p.scale) + place_of(p, row).position);
  const ComputeOf<Element> scale = to_compute(bit_cast<Scale>(raw));
  ComputeOf<Element> values[kElements];
  unpack<Element, kElements>(vector, values);
#pragma unroll
  for (int i = 0; i < kElements; ++i) values[i] *= scale;
  return pack<Element, kElements>(values);
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_SCALE_CUH_
