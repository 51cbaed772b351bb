// Reads of a table's row.
#ifndef QUERN_ROPE_ENTRIES_CUH_
#define QUERN_ROPE_ENTRIES_CUH_

#include "rope/position.cuh"

namespace quern::rope {

// The entries of `N` adjacent pairs, at a position that the table has. table=angles: of elements, without sections.
template <int N>
QUERN_DEVICE void load_entries(const void* table, const Position& position, u32 first, float* out) {
  using Table = spec::Table;
  constexpr int kWide = N * sizeof(Table) > 16 ? 16 / sizeof(Table) : N;
  constexpr int kAtOnce = kWide > spec::axis_run ? spec::axis_run : kWide;  // of one row
  QUERN_UNROLL for (int i = 0; i < N; i += kAtOnce) {
    const Table* const row = static_cast<const Table*>(table) + number_of(position, first + i) * spec::table_stride;
    const auto words = load<kAtOnce * sizeof(Table), LoadHint::keep>(row + entry_of(first + i));
    float entries[kAtOnce];
    unpack<Table, kAtOnce>(words, entries);
    QUERN_UNROLL for (int j = 0; j < kAtOnce; ++j) out[i + j] = entries[j];
  }
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_ENTRIES_CUH_
