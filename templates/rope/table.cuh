// Cosines and sines of a thread's pairs, from a table.
#ifndef QUERN_ROPE_TABLE_CUH_
#define QUERN_ROPE_TABLE_CUH_

#include "rope/entries.cuh"

namespace quern::rope {

QUERN_DEVICE void load_angles(const void* table, const Position& position, const Unit& unit, float (&out)[kPairs]) {
  if constexpr (kAcross) {
    load_entries<kPairs>(table, position, unit.pair, out);
  } else {
    load_entries<kPairs / 2>(table, position, unit.pair, out);
    if (unit.has_high) load_entries<kPairs / 2>(table, position, high_pair(unit), out + kPairs / 2);
  }
}

// The angles of a position that the table has.
QUERN_DEVICE Angles angles_at(const Params& p, const Position& position, const Unit& unit) {
  Angles angles = {};
  load_angles(p.cos, position, unit, angles.cos);
  load_angles(p.sin, position, unit, angles.sin);
  return angles;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_TABLE_CUH_
