// Cosines and sines of a thread's elements, computed from a table of angles.
#ifndef QUERN_ROPE_ANGLES_CUH_
#define QUERN_ROPE_ANGLES_CUH_

#include "rope/entries.cuh"
#include "rope/turns.cuh"

namespace quern::rope {

// The angles of a position that the table has.
QUERN_DEVICE Angles angles_at(const Params& p, const Position& position, const Unit& unit) {
  float radians[kAngles] = {};
  load_entries<kElements>(p.angles, position, unit.low - spec::rotary_offset, radians);
  if (unit.has_high) load_entries<kElements>(p.angles, position, unit.high - spec::rotary_offset, radians + kElements);
  Angles angles = {};
  QUERN_UNROLL for (int i = 0; i < kAngles; ++i) cosine_and_sine_of(radians[i], angles.cos[i], angles.sin[i]);
  return angles;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_ANGLES_CUH_
