#ifndef QUERN_COMMON_MMA_CUH_
#define QUERN_COMMON_MMA_CUH_

#include "common/bf16.cuh"
#include "common/fp16.cuh"

// Products of small matrices by the tensor cores.

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

#ifndef __CUDA_ARCH__
namespace mma_twin {

// The words that the four lanes of a row of A, or of a column of B, have: `from` is the first of these lanes.
inline void gather_words(u32 low, u32 high, u32 from, u32 (&lows)[4], u32 (&highs)[4], twin::Site site) {
  for (u32 t = 0; t < 4; ++t) {
    const u64 both = __shfl_sync(0xffffffffu, static_cast<u64>(high) << 32 | low, static_cast<int>(from + t), 32, site);
    lows[t] = static_cast<u32>(both), highs[t] = static_cast<u32>(both >> 32);
  }
}

// c + the products of 16 numbers, in their order.
template <class T>
float inner_product(const u32 (&a_low)[4], const u32 (&a_high)[4], const u32 (&b_low)[4], const u32 (&b_high)[4],
                    float c) {
  for (int k = 0; k < 8; ++k) {
    float a[2], b[2];
    T::decode2(k < 4 ? a_low[k] : a_high[k - 4], a[0], a[1]);
    T::decode2(k < 4 ? b_low[k] : b_high[k - 4], b[0], b[1]);
    c = fmaf(a[1], b[1], fmaf(a[0], b[0], c));
  }
  return c;
}

}  // namespace mma_twin
#endif

// c += a b of a warp, all lanes of which call it: a is [16, 16], b [16, 8] and c [16, 8], of fp16 or bf16 and fp32.
// With g = lane / 4 and t = lane % 4, a lane has two adjacent numbers in a word,
//   a: (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8)   b: (2t, g), (2t + 8, g), rows 2t and 2t + 1
//   c: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
// The GPU's order of additions is not documented: it is one order on one device, and sums that are exact in each order
// have the same bits everywhere. Here it is that of the numbers.
template <class T>
QUERN_DEVICE void mma_16x8x16(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2] QUERN_SITE) {
#ifdef __CUDA_ARCH__
  if constexpr (T::Twin::kBias == 127) {  // bf16
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#else
  const u32 lane = threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 8;
  u32 above[2][4], below[2][4], left[2][4], right[2][4];  // rows g and g + 8, columns 2t and 2t + 1
  mma_twin::gather_words(a[0], a[2], row, above[0], above[1], site);
  mma_twin::gather_words(a[1], a[3], row, below[0], below[1], site);
  mma_twin::gather_words(b[0], b[1], column, left[0], left[1], site);
  mma_twin::gather_words(b[0], b[1], column + 4, right[0], right[1], site);
  c[0] = mma_twin::inner_product<T>(above[0], above[1], left[0], left[1], c[0]);
  c[1] = mma_twin::inner_product<T>(above[0], above[1], right[0], right[1], c[1]);
  c[2] = mma_twin::inner_product<T>(below[0], below[1], left[0], left[1], c[2]);
  c[3] = mma_twin::inner_product<T>(below[0], below[1], right[0], right[1], c[3]);
#endif
}

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_MMA_CUH_
