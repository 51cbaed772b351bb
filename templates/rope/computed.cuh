// Cosines and sines of a thread's pairs, computed from the position.
#ifndef QUERN_ROPE_COMPUTED_CUH_
#define QUERN_ROPE_COMPUTED_CUH_

#include "generated/frequencies.cuh"
#include "rope/position.cuh"
#include "rope/turns.cuh"

namespace quern::rope {

// The product wraps around at whole turns.
QUERN_DEVICE void angle_of(i64 position, u32 pair, float& cosine, float& sine) {
  cosine_and_sine(static_cast<u64>(position) * kFrequencies[pair], cosine, sine);
}

QUERN_DEVICE Angles angles_at(const Params&, const Position& position, const Unit& unit) {
  Angles angles = {};
  QUERN_UNROLL for (int i = 0; i < kPairs; ++i) {
    const bool high = !kAcross && i >= kPairs / 2;
    if (high && !unit.has_high) continue;
    const u32 pair = high ? high_pair(unit) + i - kPairs / 2 : unit.pair + i;
    angle_of(number_of(position, pair), pair, angles.cos[i], angles.sin[i]);
  }
  return angles;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_COMPUTED_CUH_
