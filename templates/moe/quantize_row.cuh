// Rows are quantized before they are written, with a scale for each: of the largest magnitude of the whole row.
#ifndef QUERN_MOE_QUANTIZE_ROW_CUH_
#define QUERN_MOE_QUANTIZE_ROW_CUH_

#include "moe/magnitudes.cuh"

namespace quern::moe {

constexpr bool kBlocked = false;

struct ScaledPart {
  Vector<kOutVector> elements[kUnroll];
  u32 scale;
};

QUERN_DEVICE ScaledPart make(const Vector<kVector> (&values)[kUnroll], u32 scale) {
  ScaledPart made;
  made.scale = scale;
  const float reciprocal = Scaling::reciprocal(scale);
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) made.elements[i] = scaled_to<Quantized, Source, kOutVector>(values[i], reciprocal);
  return made;
}

QUERN_DEVICE void put_scale(const Params& p, u32 row, u32 scale) {
  store<4, kStore>(static_cast<u8*>(p.out_scales) + static_cast<u64>(row) * 4, {{scale}});
}

// By the thread that has the row's first vector.
template <class Part>
QUERN_DEVICE void store_made_scales(const Params& p, const Part& part, u32 row, bool zero, const ScaledPart& made) {
  if (part.column == 0) put_scale(p, row, zero ? 0 : made.scale);
}

QUERN_DEVICE void clear_made_scales(const Params& p, u32 row) {
  if (lane() == 0) put_scale(p, row, 0);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_QUANTIZE_ROW_CUH_
