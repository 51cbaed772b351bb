// Philox4x32-10, a random number generator without a state: four words for each counter and key.
#ifndef QUERN_EMBEDDING_PHILOX_CUH_
#define QUERN_EMBEDDING_PHILOX_CUH_

#include "common/device.cuh"

namespace quern::embedding {

struct Philox {
  common::u32 words[4];
};

QUERN_DEVICE Philox philox(Philox counter, common::u64 key) {
  using common::u32;
  using common::u64;
  constexpr u64 kFirst = 0xD2511F53u, kSecond = 0xCD9E8D57u;
  u32 low = static_cast<u32>(key), high = static_cast<u32>(key >> 32);
  QUERN_UNROLL for (int round = 0; round < 10; ++round) {
    const u64 a = kFirst * counter.words[0], b = kSecond * counter.words[2];
    counter = {{static_cast<u32>(b >> 32) ^ counter.words[1] ^ low, static_cast<u32>(b),
                static_cast<u32>(a >> 32) ^ counter.words[3] ^ high, static_cast<u32>(a)}};
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_PHILOX_CUH_
