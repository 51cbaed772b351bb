// Reads of a table's row.
#ifndef QUERN_ROPE_ENTRIES_CUH_
#define QUERN_ROPE_ENTRIES_CUH_

#include "rope/unit.cuh"

namespace quern::rope {

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

}  // namespace quern::rope

#endif  // QUERN_ROPE_ENTRIES_CUH_
