// Elements that are quantized, and the largest magnitude of those that lanes have.
#ifndef QUERN_MOE_MAGNITUDES_CUH_
#define QUERN_MOE_MAGNITUDES_CUH_

#include "common/scaling.cuh"
#include "moe/rows.cuh"

namespace quern::moe {

using Source = spec::Element;
using Quantized = spec::Quantized;
using Magnitude = Magnitudes<Source>;
using Scaling = ScalingOf<spec::scale_format, Quantized, spec::mode, spec::policy>::Type;

constexpr int kOutVector = kVector / static_cast<int>(sizeof(Source));  // bytes of out for each vector of source

// The larger of a magnitude and those of several vectors.
template <u32 kVectors>
QUERN_DEVICE u32 largest_of(u32 m, const Vector<kVector>* vectors) {
#pragma unroll
  for (u32 k = 0; k < kVectors; ++k) {
#pragma unroll
    for (int i = 0; i < Vector<kVector>::kWords; ++i)
      m = Magnitude::larger(m, magnitudes<Source, spec::policy>(vectors[k].w[i]));
  }
  return m;
}

// Of adjacent lanes, in each of them, as fp32.
template <u32 kOfLanes>
QUERN_DEVICE u32 largest_of_lanes(u32 m) {
#pragma unroll
  for (u32 mask = kOfLanes / 2; mask > 0; mask /= 2)
    m = Magnitude::larger(m, __shfl_xor_sync(group_mask(), m, static_cast<int>(mask)));
  return Magnitude::as_fp32(Magnitude::fold(m));
}

}  // namespace quern::moe

#endif  // QUERN_MOE_MAGNITUDES_CUH_
