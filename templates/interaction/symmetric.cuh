// Backward of the form lower: the gradients of all pairs as a symmetric matrix in a warp's shared memory, in the type
// of the numbers. Without the diagonal there are zeros. The gradient of x is this matrix times x, then plus the
// diagonal times x once more, then plus the gradient of the dense numbers.
#ifndef QUERN_INTERACTION_SYMMETRIC_CUH_
#define QUERN_INTERACTION_SYMMETRIC_CUH_

#include "interaction/lower.cuh"

namespace quern::interaction {

// Sides are whole bands, padded with zeros. Rows are apart by 16 bytes more than a side.
struct Symmetric {
  u8* at;
  u32 side;
  u32 pitch;  // bytes

  QUERN_DEVICE u8* place(u32 i, u32 j) const { return at + i * pitch + j * kSize; }
};

QUERN_DEVICE u32 side_of(const Params& p) { return (p.features + spec::band - 1) / spec::band * spec::band; }

QUERN_DEVICE const u8* gradient_of(const Params& p, const Sample& sample) {
  return p.gradient + sample.number * p.out_stride;
}

// Lanes have adjacent numbers of a row, and a lane those of eight rows.
QUERN_DEVICE Symmetric stage_symmetric(const Params& p, const Sample& sample) {
  const u32 side = side_of(p);
  const Symmetric matrix = {sample.shared, side, side * kSize + 16};
  const u8* const pairs = gradient_of(p, sample) + static_cast<i64>(p.dense) * kSize;
#pragma unroll 1
  for (u32 j = sample.lane; j < side; j += 32) {
#pragma unroll 1
    for (u32 first = j - sample.lane; first < side; first += 8) {
      Vector<kSize> numbers[8];
#pragma unroll
      for (u32 k = 0; k < 8; ++k)
        numbers[k] =
            load_if<kSize, LoadHint::plain>(is_pair(p, first + k, j), pairs + pair_place(first + k, j) * kSize);
#pragma unroll
      for (u32 k = 0; k < 8; ++k) {
        const u32 i = first + k;
        if (i < j) continue;
        store_shared<kSize>(matrix.place(i, j), numbers[k]);
        if (i > j) store_shared<kSize>(matrix.place(j, i), numbers[k]);
      }
    }
  }
  __syncwarp();
  return matrix;
}

// The sum of number `k` of vector i, finished. `dense`: it may be one of the dense numbers.
QUERN_DEVICE float finished(const Params& p, const u8* gradient, const Symmetric& matrix, u32 i, u32 k, float number,
                            float sum, bool dense = true) {
  if constexpr (spec::diagonal)
    sum = fmaf(to_float(bit_cast<Number>(load_shared<kSize>(matrix.place(i, i)))), number, sum);
  if constexpr (spec::has_dense) {
    if (!dense) return sum;
    const u64 place = i * static_cast<u64>(p.dim) + k;
    if (place < p.dense) sum += load_number(true, gradient + static_cast<i64>(place) * kSize);
  }
  return sum;
}

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_SYMMETRIC_CUH_
