// Cosines and sines of a thread's pairs, from the table.
#ifndef QUERN_ROPE_ANGLES_CUH_
#define QUERN_ROPE_ANGLES_CUH_

#include "rope/unit.cuh"

namespace quern::rope {

// For each pair of a unit: those of `low` come first.
constexpr int kPairs = kElements;
struct Angles {
  float cos[kPairs];
  float sin[kPairs];
};

// `N` adjacent entries.
template <int N>
QUERN_DEVICE void load_entries(const void* row, u32 entry, float* out) {
  using Table = spec::Table;
  constexpr int kAtOnce = N * sizeof(Table) > 16 ? 16 / sizeof(Table) : N;
  QUERN_UNROLL for (int i = 0; i < N; i += kAtOnce) {
    const auto words = load<kAtOnce * sizeof(Table), LoadHint::keep>(static_cast<const Table*>(row) + entry + i);
    float entries[kAtOnce];
    unpack<Table, kAtOnce>(words, entries);
    QUERN_UNROLL for (int j = 0; j < kAtOnce; ++j) out[i + j] = entries[j];
  }
}

QUERN_DEVICE void load_angles(const void* row, const Unit& unit, float (&out)[kPairs]) {
  if constexpr (kAcross) {
    load_entries<kPairs>(row, unit.entry, out);
  } else {
    load_entries<kPairs / 2>(row, unit.entry, out);
    if (unit.has_high) load_entries<kPairs / 2>(row, unit.entry + kRotatedUnits * kElements / 2, out + kPairs / 2);
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

// Of a token. Not in the table: a negative number, if the problem asks.
QUERN_DEVICE i64 position_of(const Params& p, i64 batch, i64 token) {
  i64 position = p.offset;
  if constexpr (spec::position != RopePosition::ids) position += token;
  if constexpr (spec::position != RopePosition::sequence) {
    const i64 at = spec::position == RopePosition::ids ? batch * p.seq + token : batch;
    using Index = spec::Index;
    position += bit_cast<Index>(load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(p.positions) + at));
  }
  if constexpr (spec::beyond == RopeBeyond::assume_valid) return position;
  if (position >= 0 && position < p.table_rows) return position;
  if constexpr (spec::beyond == RopeBeyond::report) atomicMin(p.report, batch * p.seq + token);
  return -1;
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_ANGLES_CUH_
