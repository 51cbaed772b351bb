// op=find: a thread looks up several keys. It reads the first slot of each before it waits for one.
#include "hash_table/keys.cuh"
#include "hash_table/params.h"

namespace quern::hash_table {

static_assert(sizeof(FindParams) == spec::params_bytes, "host and device disagree about FindParams");

QUERN_DEVICE void find_keys(const FindParams& p) {
  const Keys keys = keys_of(p.keys);
  const u64 first = first_item(spec::unroll), count = static_cast<u64>(p.count);
  i64 wanted[spec::unroll];
  hash::Entry entries[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u64 at = first + static_cast<u64>(i) * blockDim.x;
    wanted[i] = keys.read_if(at < count, at);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i)
    entries[i] = hash::read_entry<spec::vector>(p.table, hash::home(wanted[i], p.mask));
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const u64 at = first + static_cast<u64>(i) * blockDim.x;
    if (at >= count) return;
    const i64 position =
        hash::find_from<spec::vector>(p.table, p.mask, wanted[i], hash::home(wanted[i], p.mask), entries[i]);
    store<8>(p.out + at, bit_cast<Vector<8>>(position < 0 ? i64{0} : position));
  }
}

}  // namespace quern::hash_table

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_hash_table_find(const __grid_constant__ quern::hash_table::FindParams params) {
  quern::hash_table::find_keys(params);
}
