// Writes of consecutive words, 16 bytes at a time, whatever the address is aligned to.
#ifndef QUERN_MOE_MAP_RANGES_CUH_
#define QUERN_MOE_MAP_RANGES_CUH_

#include "moe_map/block.cuh"

namespace quern::moe_map {

// Words from the last multiple of 16 bytes to `to`.
QUERN_DEVICE u32 skew_of(const int* to) { return static_cast<u32>(reinterpret_cast<u64>(to) / 4 % 4); }

// Of `count` threads, the `number`th.
struct Member {
  u32 number;
  u32 count;
};

QUERN_DEVICE Member of_warp() { return {lane(), 32}; }
QUERN_DEVICE Member of_block() { return {threadIdx.x, kThreads}; }
QUERN_DEVICE Member of_grid() { return {blockIdx.x * kThreads + threadIdx.x, gridDim.x * kThreads}; }

// Calls words(i) for 4 words that begin at word i; i is -3 or more. Those outside of the range are not written.
template <class Make>
QUERN_DEVICE void write_words(int* to, i64 count, const Member& member, const Make& words) {
#pragma unroll 1
  for (i64 i = i64{member.number} * 4 - skew_of(to); i < count; i += i64{member.count} * 4) {
    const Vector<16> four = words(i);
    if (i >= 0 && i + 4 <= count) {
      store<16>(to + i, four);
    } else {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        if (i + w >= 0 && i + w < count) put(to + (i + w), four.w[w]);
      }
    }
  }
}

// Word i becomes first + step * i.
QUERN_DEVICE void write_range(int* to, i64 count, u32 first, u32 step, const Member& member) {
  write_words(to, count, member, [&](i64 i) {
    const u32 word = first + step * static_cast<u32>(i);
    return Vector<16>{{word, word + step, word + 2 * step, word + 3 * step}};
  });
}

}  // namespace quern::moe_map

#endif  // QUERN_MOE_MAP_RANGES_CUH_
