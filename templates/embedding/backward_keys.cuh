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

// What an id becomes a row by, in shared memory: adjacent ids are of different tables, and a read of different
// parameters takes a warp as long as reads one after the other. It is after what the sort has there.
QUERN_DEVICE u8* hash_and_base(u32 table) { return dynamic_shared() + spec::tables_at + table * 16; }
QUERN_DEVICE u8* rows_and_padding(u32 table) { return hash_and_base(spec::most) + table * 16; }
QUERN_DEVICE u8* shift_of(u32 table) { return rows_and_padding(spec::most) + table * 4; }

QUERN_DEVICE Vector<16> two_words(u64 a, u64 b) {
  return {{static_cast<u32>(a), static_cast<u32>(a >> 32), static_cast<u32>(b), static_cast<u32>(b >> 32)}};
}
QUERN_DEVICE u64 first_word(const Vector<16>& words) { return words.w[0] | static_cast<u64>(words.w[1]) << 32; }
QUERN_DEVICE u64 second_word(const Vector<16>& words) { return words.w[2] | static_cast<u64>(words.w[3]) << 32; }

QUERN_DEVICE void copy_tables(const SortParams& p) {
  for (u32 t = threadIdx.x; t < p.ids.number_of_tables; t += blockDim.x) {
    const Limits& limits = p.ids.limits[t];
    store_shared<16>(hash_and_base(t), two_words(p.ids.tables[t].hash, p.base[t]));
    store_shared<16>(rows_and_padding(t), two_words(static_cast<u64>(limits.rows), static_cast<u64>(limits.padding)));
    store_shared<4>(shift_of(t), Vector<4>{{p.ids.tables[t].shift}});
  }
  __syncthreads();
}

QUERN_DEVICE Source copied_source(u32 table, u64& base) {
  const Vector<16> hash = load_shared<16>(hash_and_base(table)), limits = load_shared<16>(rows_and_padding(table));
  base = second_word(hash);
  Source source = {};
  source.table.hash = first_word(hash);
  source.table.shift = load_shared<4>(shift_of(table)).w[0] & 0xffu;
  source.limits = {static_cast<i64>(first_word(limits)), static_cast<i64>(second_word(limits))};
  return source;
}

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
  u64 base;
  const Row row = row_of(copied_source(table, base), id, position, true, report);
  return row.read ? static_cast<Key>(base) + static_cast<Key>(row.number) : static_cast<Key>(p.rows);
}

// Of an id in no bag any number: it is not used.
QUERN_DEVICE u32 value_at(const SortParams& p, u32 position) {
  if constexpr (!spec::values_are_bags) return position;
  return last_bag(p.ids.offsets, position, 0, p.bags, 1);
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_KEYS_CUH_
