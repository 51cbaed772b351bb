// The keys, as 64-bit numbers.
#ifndef QUERN_HASH_TABLE_KEYS_CUH_
#define QUERN_HASH_TABLE_KEYS_CUH_

#include "hash/table.cuh"
#include "spec.cuh"

namespace quern::hash_table {

using namespace common;

using Key = spec::Key;

struct Keys {
  const Key* data;
  QUERN_DEVICE i64 operator()(u64 position) const { return bit_cast<Key>(load<sizeof(Key)>(data + position)); }
  // 0 where it is not wanted.
  QUERN_DEVICE i64 read_if(bool wanted, u64 position) const {
    return bit_cast<Key>(load_if<sizeof(Key)>(wanted, data + position));
  }
};

QUERN_DEVICE Keys keys_of(const void* keys) { return {static_cast<const Key*>(keys)}; }

// Of the block's items, the first one of this thread; the others are blockDim.x apart.
QUERN_DEVICE u64 first_item(u32 items) { return static_cast<u64>(blockIdx.x) * blockDim.x * items + threadIdx.x; }

}  // namespace quern::hash_table

#endif  // QUERN_HASH_TABLE_KEYS_CUH_
