// Scales that move with the rows, of any type: bytes. In a dispatch the group of a row's first part moves
// them all, in a reorder each part some.
#ifndef QUERN_MOE_SCALES_CUH_
#define QUERN_MOE_SCALES_CUH_

#include "moe/rows.cuh"

namespace quern::moe {

constexpr bool kScales = spec::scale_vector != 0;
constexpr int kScaleVector = kScales ? spec::scale_vector : 1;  // bytes; without scales nothing uses it

QUERN_DEVICE u64 scales_at(const Params& p, u64 row, u32 column) {
  return (row * p.scale_vectors + column) * kScaleVector;
}

QUERN_DEVICE Vector<kScaleVector> load_scales(const Params& p, u64 token, u32 column) {
  return load<kScaleVector, kLoad>(static_cast<const u8*>(p.scales) + scales_at(p, token, column));
}

QUERN_DEVICE void store_scales(const Params& p, u32 row, u32 column, const Vector<kScaleVector>& scales) {
  store<kScaleVector, kStore>(static_cast<u8*>(p.out_scales) + scales_at(p, row, column), scales);
}

QUERN_DEVICE void clear_scales(const Params& p, u32 row) {
#pragma unroll 1
  for (u32 column = lane(); column < p.scale_vectors; column += kLanes) store_scales(p, row, column, {});
}

}  // namespace quern::moe

#endif  // QUERN_MOE_SCALES_CUH_
