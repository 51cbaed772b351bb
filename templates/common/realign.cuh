#ifndef QUERN_COMMON_REALIGN_CUH_
#define QUERN_COMMON_REALIGN_CUH_

#include "common/vector.cuh"

namespace quern::common {

// The low word of hi:lo >> (bits mod 32).
QUERN_DEVICE u32 funnel_right(u32 lo, u32 hi, u32 bits) {
#ifdef __CUDA_ARCH__
  u32 word;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(lo), "r"(hi), "r"(bits));
  return word;
#else
  return static_cast<u32>(((static_cast<u64>(hi) << 32) | lo) >> (bits & 31u));
#endif
}

// Bytes offset .. offset + 15 of the 32 bytes lo | hi, for an offset of 0 to 15: the part of two aligned reads that an
// unaligned row needs. Two halving steps with selects choose the word, so that no register is indexed.
QUERN_DEVICE Vector<16> realign(const Vector<16>& lo, const Vector<16>& hi, u32 offset) {
  const u32 words[8] = {lo.w[0], lo.w[1], lo.w[2], lo.w[3], hi.w[0], hi.w[1], hi.w[2], hi.w[3]};
  u32 by_two[6], by_one[5];
  QUERN_UNROLL for (int i = 0; i < 6; ++i) by_two[i] = (offset & 8u) != 0 ? words[i + 2] : words[i];
  QUERN_UNROLL for (int i = 0; i < 5; ++i) by_one[i] = (offset & 4u) != 0 ? by_two[i + 1] : by_two[i];
  Vector<16> out;
  QUERN_UNROLL for (int i = 0; i < 4; ++i) out.w[i] = funnel_right(by_one[i], by_one[i + 1], offset * 8);
  return out;
}

}  // namespace quern::common

#endif  // QUERN_COMMON_REALIGN_CUH_
