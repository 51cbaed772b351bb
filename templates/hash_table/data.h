// Keys and tables for tests and benchmarks.
#ifndef QUERN_HASH_TABLE_DATA_H_
#define QUERN_HASH_TABLE_DATA_H_

#include <cstdint>

#include "hash/reference.h"
#include "hash_table/hash_table.h"

namespace quern::hash_table {

// A key whose home is `slot`; each `number` below 2^32 gives another one.
std::int64_t key_of_home(std::uint32_t slot, std::uint32_t number);

// In benchmarks, seed 1, random keys. Else by the seed: such keys, keys of few values, one key only, keys that share
// homes near the end of the table, or ascending ones around 0 with the smallest and the largest numbers among them.
void generate_keys(const HashTable& p, std::uint64_t seed, void* data);
// find: a table that is half full, as always in benchmarks, empty, full but for one slot, or full. Half of the keys of
// generate_keys are in it.
void generate_table(const HashTable& p, std::uint64_t seed, hash::Entry* entries);

}  // namespace quern::hash_table

#endif  // QUERN_HASH_TABLE_DATA_H_
