// What a sum of rows becomes: factors, and what out had, in fp32 and rounded once.
#ifndef QUERN_SCATTER_FACTOR_CUH_
#define QUERN_SCATTER_FACTOR_CUH_

#include "common/numbers.cuh"
#include "rows/segment_sums.cuh"
#include "scatter/index.cuh"

namespace quern::scatter {

using Element = spec::Element;
constexpr bool kFactor = spec::alpha || spec::column_scale;

QUERN_DEVICE float scale_at(const Params& p, i64 at) {
  using Scale = spec::Scale;
  const auto raw = load<sizeof(Scale), LoadHint::keep>(static_cast<const Scale*>(p.scale) + at);
  return to_float(bit_cast<Scale>(raw));
}

// The scale of a row of source.
QUERN_DEVICE float row_scale(const Params& p, u64 position) {
  return spec::row_scale ? scale_at(p, static_cast<i64>(position)) : 1;
}

QUERN_DEVICE float plus(float sum, float value, float scale) {
  return spec::row_scale ? fmaf(scale, value, sum) : sum + value;
}

// The scales of the columns from a byte of a row on. With order or unique indices a window may begin before the row and
// end after it: there they are 0.
template <int N>
QUERN_DEVICE void load_scales(const Params& p, i64 byte, float (&scales)[N]) {
  using Scale = spec::Scale;
  const i64 first = byte / static_cast<int>(sizeof(Element)), width = p.row_bytes / static_cast<int>(sizeof(Element));
  if constexpr (spec::ragged) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const bool inside = !spec::ordered || (first + i >= 0 && first + i < width);
      scales[i] = inside ? scale_at(p, first + i) : 0.0f;
    }
  } else {
    unpack<Scale, N>(
        load<N* static_cast<int>(sizeof(Scale)), LoadHint::keep>(static_cast<const Scale*>(p.scale) + first), scales);
  }
}

// The elements from a byte of a row on, for their sums and what out has there.
template <int Bytes>
QUERN_DEVICE Vector<Bytes> added(const Params& p, i64 byte, const float (&sums)[Bytes / sizeof(Element)],
                                 const Vector<Bytes>& before) {
  constexpr int kElements = Bytes / static_cast<int>(sizeof(Element));
  float factors[kElements], olds[kElements], values[kElements];
  if constexpr (spec::column_scale) load_scales(p, byte, factors);
  if constexpr (!spec::zeroes) unpack<Element, kElements>(before, olds);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const float factor = !spec::column_scale ? p.alpha : spec::alpha ? p.alpha * factors[i] : factors[i];
    if constexpr (spec::zeroes) {
      values[i] = kFactor ? factor * sums[i] : sums[i];
    } else {
      values[i] = kFactor ? fmaf(factor, sums[i], olds[i]) : olds[i] + sums[i];
    }
  }
  return pack<Element, kElements>(values);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_FACTOR_CUH_
