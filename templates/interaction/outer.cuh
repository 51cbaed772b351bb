// The forms outer and upper: a thread block has a part of a sample's products. Its numbers are in shared memory; out is
// written in aligned accesses of 16 bytes, and the ends of a row number by number.
#ifndef QUERN_INTERACTION_OUTER_CUH_
#define QUERN_INTERACTION_OUTER_CUH_

#include "interaction/products.cuh"

namespace quern::interaction {

// The numbers of the sample, as floats.
QUERN_DEVICE u8* number_at(u32 number) { return dynamic_shared() + number * 4; }
QUERN_DEVICE float number(u32 i) { return bit_cast<float>(load_shared<4>(number_at(i)).w[0]); }

QUERN_DEVICE void stage_numbers(const u8* source, u32 width) {
#pragma unroll 1
  for (u32 i = threadIdx.x; i < width; i += blockDim.x)
    store_shared<4>(number_at(i), bit_cast<Vector<4>>(load_number(true, source + i * kSize)));
  __syncthreads();
}

// Products from place (i, j) on.
QUERN_DEVICE void products_from(u32 i, u32 j, u32 width, float (&products)[kOfColumn]) {
  float factor = number(i);
  if (j % 4 == 0 && j + kOfColumn <= width) {
    QUERN_UNROLL for (u32 k = 0; k < kOfColumn; k += 4) {
      const Vector<16> four = load_shared<16>(number_at(j + k));
      QUERN_UNROLL for (u32 q = 0; q < 4; ++q) products[k + q] = factor * bit_cast<float>(four.w[q]);
    }
    return;
  }
  QUERN_UNROLL for (u32 k = 0; k < kOfColumn; ++k) {
    products[k] = factor * number(j);
    if (++j < width) continue;
    j = first_of_row(i + 1);
    if (++i < width) factor = number(i);
  }
}

// Of the row of out, the column of 16 bytes that begins `begin` bytes after it, or before it.
QUERN_DEVICE void store_products(const Params& p, u8* row, u32 width, i64 begin) {
  const i64 end = static_cast<i64>(products_of(width)) * kSize;
  if (begin >= end) return;
  const bool whole = begin >= 0 && begin + 16 <= end;
  const i64 from = begin < 0 ? 0 : begin;
  const u32 place = static_cast<u32>(from / kSize);
  float products[kOfColumn];
  if (whole) {
    const Product first = product_at(p, width, place);
    products_from(first.i, first.j, width, products);
    store<16, kStore>(row + from, pack<Number, kOfColumn>(products));
    return;
  }
  const u32 last = static_cast<u32>((begin + 16 < end ? begin + 16 : end) / kSize);
#pragma unroll 1
  for (u32 at = place; at < last; ++at) {
    const Product one = product_at(p, width, at);
    const float product = number(one.i) * number(one.j);
    store<kSize>(row + static_cast<i64>(at) * kSize, bit_cast<Vector<kSize>>(from_compute<Number>(product)));
  }
}

QUERN_DEVICE void interact(const Params& p) {
  const u32 sample = divide32(blockIdx.x, p.parts), part = blockIdx.x - sample * (p.parts_of_sample);
  const u32 width = p.features * p.dim;
  u8* const row = p.out + sample * p.out_stride;
  const i64 lead = static_cast<i64>(reinterpret_cast<u64>(row) & 15u);
  stage_numbers(p.source + sample * p.source_stride, width);
#pragma unroll 1
  for (u32 u = 0; u < spec::unroll; ++u) {
    const u32 column = (part * spec::unroll + u) * blockDim.x + threadIdx.x;
    store_products(p, row, width, static_cast<i64>(column) * 16 - lead);
  }
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_OUTER_CUH_
