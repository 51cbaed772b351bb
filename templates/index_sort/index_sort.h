// index_sort: the order of a list of indices, by value, as a stable sort gives it.
//
// With it rows that share an index can be added up in one order, without atomics: the gradient of gather, of an
// embedding, or scatter with repeated indices.
#ifndef QUERN_INDEX_SORT_H_
#define QUERN_INDEX_SORT_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"

namespace quern {

struct IndexSortArgs {
  In index = {};       // [count] of `index`
  Out order = {};      // [count] of i32: positions in `index`, by value; equal ones in their order
  Out sorted = {};     // [count] of i32: index[order[i]]; `rows` where that is not in [0, rows)
  Out workspace = {};  // scratch: zeros before the first launch; each launch restores them; one launch at a time
  std::int64_t rows = kOpen;
  std::int64_t count = kOpen;
};

// Indices outside of [0, rows) are last, in their order, whatever their value.
// COST: one launch. For each 8 bits of `rows` the list is read twice and written once. Cooperative: thread blocks wait
// for each other; up to 256 indices are one block's work.
struct IndexSort {
  using Args = IndexSortArgs;

  std::int64_t rows = kOpen;   // indices are below it; fewer than 2^31
  std::int64_t count = kOpen;  // indices; fewer than 2^31
  DType index = DType::i64;    // i64 or i32

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_INDEX_SORT_H_
