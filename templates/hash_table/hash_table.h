// hash_table: a table on the device from keys to their positions, and the look-up of keys in it.
//
// The vocabulary of a recommender model, prepared once: find gives what an argmax over (x[i] == keys) gives, without a
// comparison of each pair. Nothing is read on the host.
#ifndef QUERN_HASH_TABLE_H_
#define QUERN_HASH_TABLE_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/export.h"
#include "quern/family.h"

namespace quern {

#define QUERN_HASH_TABLE_OPS(VALUE)    \
  VALUE(build) /* the table of keys */ \
  VALUE(find)  /* positions of other keys, from the table */
enum class HashTableOp : std::uint8_t { QUERN_HASH_TABLE_OPS(QUERN_CHOICE_VALUE) };

struct HashTableArgs {
  In keys = {};        // [count] of `dtype`: any values; of equal ones the first counts
  In table = {};       // find, [capacity, 2] of i64: what build wrote, with the same capacity
  Out out = {};        // build, [capacity, 2] of i64: a key and its position in `keys`; 0 and -1 in an empty slot
                       // find, [count] of i64: the position of each key; 0 where the table has none
  Out workspace = {};  // build, scratch: zeros before the first launch; each launch restores them; one launch at a time
  std::int64_t count = kOpen;
};

// A table has the same bytes for the same keys, on each device. It may be kept, but for one version of quern only.
// COST: build: two launches, of a thread for each key and one for each few slots. find: one launch, which reads 1.5
// slots of 16 bytes for each key, at random, where half of the slots are empty.
struct HashTable {
  using Args = HashTableArgs;

  HashTableOp op = HashTableOp::build;
  std::int64_t count = kOpen;  // keys; build: fewer than 2^31
  std::int64_t capacity = 0;   // slots of the table, a power of two; build: at least 2 * count, 0: the least such one
  DType dtype = DType::i64;    // of the keys: i64 or i32; a table of one serves keys of the other

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_HASH_TABLE_H_
