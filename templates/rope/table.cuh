// Cosines and sines of a thread's pairs, from a table.
#ifndef QUERN_ROPE_TABLE_CUH_
#define QUERN_ROPE_TABLE_CUH_

#include "rope/entries.cuh"

namespace quern::rope {

QUERN_DEVICE void load_angles(const void* row, const Unit& unit, float (&out)[kPairs]) {
  if constexpr (kAcross) {
    load_entries<kPairs>(row, unit.entry, out);
  } else {
    load_entries<kPairs / 2>(row, unit.entry, out);
    if (unit.has_high) load_entries<kPairs / 2>(row, high_entry(unit), out + kPairs / 2);
  }
}

// The angles of a position that the table has.
QUERN_DEVICE Angles angles_at(const Params& p, i64 position, const Unit& unit) {
  const i64 first = position * spec::table_stride;
  Angles angles = {};
  load_angles(static_cast<const spec::Table*>(p.cos) + first, unit, angles.cos);
  load_angles(static_cast<const spec::Table*>(p.sin) + first, unit, angles.sin);
  return angles;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_TABLE_CUH_
