// The first kernel of op=build: a thread inserts one key's position into the words of the workspace, which are zeros
// before. 4 bytes a slot stay in the L2 where the entries, of 16 bytes, would not.
#include "hash_table/keys.cuh"
#include "hash_table/params.h"

static_assert(sizeof(quern::hash_table::InsertParams) == quern::spec::params_bytes,
              "host and device disagree about InsertParams");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_hash_table_insert(const __grid_constant__ quern::hash_table::InsertParams params) {
  const quern::common::u64 position = quern::hash_table::first_item(1);
  if (position >= params.count) return;
  quern::hash::insert(params.words, params.mask, quern::hash_table::keys_of(params.keys),
                      static_cast<quern::common::u32>(position));
}
