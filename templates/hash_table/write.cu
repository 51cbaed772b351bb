// The second kernel of op=build: writes the entry of each slot, and restores the zeros of the workspace.
#include "hash_table/keys.cuh"
#include "hash_table/params.h"

namespace quern::hash_table {

static_assert(sizeof(WriteParams) == spec::params_bytes, "host and device disagree about WriteParams");

QUERN_DEVICE void write_entry(void* table, u64 slot, const hash::Entry& entry) {
  u8* const to = static_cast<u8*>(table) + slot * sizeof(hash::Entry);
  const Vector<16> bits = bit_cast<Vector<16>>(entry);
#pragma unroll
  for (int i = 0; i < 16 / spec::vector; ++i)
    store<spec::vector>(to + i * spec::vector, piece_of<spec::vector>(bits, i));
}

QUERN_DEVICE void write_entries(const WriteParams& p) {
  const Keys keys = keys_of(p.keys);
  const u64 first = first_item(spec::unroll);
  u32 words[spec::unroll];
  i64 found[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u64 slot = first + static_cast<u64>(i) * blockDim.x;
    words[i] = load_if<4>(slot <= p.mask, p.words + slot).w[0];
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) found[i] = keys.read_if(words[i] != 0, words[i] - 1);
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u64 slot = first + static_cast<u64>(i) * blockDim.x;
    if (slot > p.mask) return;
    write_entry(p.table, slot, {found[i], static_cast<i64>(words[i]) - 1});
    if (words[i] != 0) store<4>(p.words + slot, {{0}});
  }
}

}  // namespace quern::hash_table

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_hash_table_write(const __grid_constant__ quern::hash_table::WriteParams params) {
  quern::hash_table::write_entries(params);
}
