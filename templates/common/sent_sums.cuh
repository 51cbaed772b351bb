#ifndef QUERN_COMMON_SENT_SUMS_CUH_
#define QUERN_COMMON_SENT_SUMS_CUH_

#include "common/sync.cuh"

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

namespace quern::common {

// A sum on its way from one thread to another, in a word that is 0 before and after. It is its own flag: no fence is
// needed. A NaN becomes the canonical one.
QUERN_DEVICE void send_sum(u32* to, float sum) { store_relaxed(to, sum != sum ? ~0x7fffffffu : ~bit_cast<u32>(sum)); }

// `word` was read from there; waits for the sum if that was before it came.
QUERN_DEVICE float received(u32* from, u32 word) {
  word = awaited(from, word);
  store_relaxed(from, 0);
  return bit_cast<float>(~word);
}

// The sum of so many that were sent, in sequence, `pitch` words from one to the next.
QUERN_DEVICE float sum_received(u32* sums, i64 count, i64 pitch) {
  constexpr int kAtOnce = 16;
  float sum = 0;
  for (i64 first = 0; first < count; first += kAtOnce) {
    u32 words[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) words[k] = first + k < count ? load_relaxed(sums + (first + k) * pitch) : 0;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k < count) sum += received(sums + (first + k) * pitch, words[k]);
    }
  }
  return sum;
}

// The words of at most `Most` rows of them, 2 * N adjacent ones of each, aligned to 8 bytes; waits until all are there.
// Two are read at once, each being a flag of its own: one may be there before the other.
template <int Most, int N>
QUERN_DEVICE void await_pairs(const u32* words, u32 count, i64 pitch, u64 (&got)[Most][N]) {
  bool all_came = false;
  while (!all_came) {
#pragma unroll
    for (u32 k = 0; k < Most; ++k) {
#pragma unroll
      for (int i = 0; i < N; ++i)
        got[k][i] = k < count ? load_relaxed(reinterpret_cast<const u64*>(words + k * pitch) + i) : ~u64{0};
    }
    all_came = true;
#pragma unroll
    for (u32 k = 0; k < Most; ++k) {
#pragma unroll
      for (int i = 0; i < N; ++i)
        all_came = all_came && static_cast<u32>(got[k][i]) != 0 && static_cast<u32>(got[k][i] >> 32) != 0;
    }
    if (!all_came) poll_again();
  }
}

// Of N adjacent columns the sums of at most 16 that were sent, each in the sequence of sum_received.
template <int N>
QUERN_DEVICE void sums_received(u32* sums, u32 count, i64 pitch, float (&sum)[N]) {
  static_assert(N % 2 == 0, "two words are read at once");
  u64 words[16][N / 2];
  await_pairs(sums, count, pitch, words);
#pragma unroll
  for (float& each : sum) each = 0;
#pragma unroll
  for (u32 k = 0; k < 16; ++k) {
    if (k >= count) continue;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      sum[2 * i] += bit_cast<float>(~static_cast<u32>(words[k][i]));
      sum[2 * i + 1] += bit_cast<float>(~static_cast<u32>(words[k][i] >> 32));
      store_relaxed(reinterpret_cast<u64*>(sums + k * pitch) + i, u64{0});
    }
  }
}

// Whether `own` more arrivals make `all`; then `arrived` is 0 again. `before`: what a group of `lanes` adjacent threads
// found there, in its first one.
QUERN_DEVICE bool is_last(u32* arrived, u32 before, u32 own, u32 all, u32 lanes = 32) {
  const u32 lane = threadIdx.x % 32, first = lane / lanes * lanes,
            mask = (lanes == 32 ? ~0u : (1u << lanes) - 1) << first;
  if (__shfl_sync(mask, before, 0, static_cast<int>(lanes)) + own != all) return false;
  if (lane == first) store_relaxed(arrived, 0);
  return true;
}

}  // namespace quern::common

#endif

#endif  // QUERN_COMMON_SENT_SUMS_CUH_
