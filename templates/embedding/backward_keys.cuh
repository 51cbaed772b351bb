// What is sorted: for each id its row's number among the rows of all tables, and what leads to its gradient.
#ifndef QUERN_EMBEDDING_BACKWARD_KEYS_CUH_
#define QUERN_EMBEDDING_BACKWARD_KEYS_CUH_

#include "embedding/backward_offsets.cuh"
#include "embedding/backward_params.cuh"
#include "embedding/ids.cuh"
#include "sort/item.cuh"

namespace quern::embedding {

using SortParams = SortParamsOf<spec::most>;

constexpr u32 kNoTable = ~0u;

// The table of bags that an id is in; kNoTable if it is before or after all of them.
QUERN_DEVICE u32 table_at(const SortParams& p, u32 position) {
  if (position < offset_of(p.ids.offsets, 0)) return kNoTable;
  if constexpr (spec::has_end) {
    if (position >= offset_of(p.ids.offsets, p.bags)) return kNoTable;
  }
  const u32 batch = static_cast<u32>(p.ids.batch);
  return divide32(last_bag(p.ids.offsets, position, 0, p.bags, batch), p.by_divisor);
}

QUERN_DEVICE sort::Key key_at(const SortParams& p, u32 position) {
  using sort::Key;
  u32 table, sample = 0;
  if constexpr (kPooled) {
    table = table_at(p, position);
    if (table == kNoTable) return static_cast<Key>(p.rows);
  } else {
    sample = divide32(position, p.by_divisor);
    table = position - sample * p.ids.number_of_tables;
  }
  const u8* const from = static_cast<const u8*>(p.ids.index) + static_cast<i64>(sample) * p.ids.index_stride;
  const spec::Index id = load_id(from, kPooled ? position : table, true);
  Report report;  // the forward pass has reported
  const Row row = row_of(source_of(p.ids, table, ~0u), id, position, true, report);
  return row.read ? static_cast<Key>(p.base[table]) + static_cast<Key>(row.number) : static_cast<Key>(p.rows);
}

// Of an id in no bag any number: it is not used.
QUERN_DEVICE u32 value_at(const SortParams& p, u32 position) {
  if constexpr (!spec::values_are_bags) return position;
  return last_bag(p.ids.offsets, position, 0, p.bags, 1);
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_KEYS_CUH_
