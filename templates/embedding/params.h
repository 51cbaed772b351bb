// The parameter structs of the kernels that look rows up and that make offsets of lengths. Read by host and kernel.
#ifndef QUERN_EMBEDDING_PARAMS_H_
#define QUERN_EMBEDDING_PARAMS_H_

#include "common/device.cuh"
#include "embedding/embedding_choices.h"

namespace quern::embedding {

using Hash = EmbeddingHash;
using Mode = EmbeddingMode;
using Pooling = EmbeddingPooling;

// The types that a table may have, as bits of spec::types.
enum RowType : unsigned { kF32, kF16, kBf16, kE4m3, kE5m2, kInt8, kRowTypes };

// A slot is as many elements of out as a thread has at once. Columns are counted in slots.

struct TableParams {
  unsigned long long at;    // the address of column 0 of row 0, if the table had the columns before its first one
  unsigned long long hash;  // modulus: the magic of the division by its rows, see common::Divisor; index: the address
                            // of the vocabulary's table
  unsigned stride;          // bytes
  unsigned shift : 8;       // modulus: of the division; index: log2 of the vocabulary's slots
  unsigned type : 8;        // RowType
};

struct Limits {
  long long rows;
  long long padding;
};

struct Scales {
  unsigned long long at;  // 0: none
  long long stride;       // bytes
};

// What a thread reads before its first id comes first, see common::Slots. `Most`, a power of two, is at least the
// number of tables.
template <int Most, bool Limited, bool Scaled>
struct ParamsOf {
  long long batch;
  const void* index;
  long long index_stride;  // bytes; without pooling
  unsigned columns;        // of a row of out
  unsigned across;         // tiles side by side; scaling=row: that a thread block makes one after the other
  unsigned lanes_log2;     // a tile has so many adjacent columns, a power of two, one for each of as many threads
  unsigned dense_columns;  // they come before the tables'
  unsigned number_of_tables;
  unsigned first[Most];  // a table's first column, rising; after the last table 2^32 - 1
  TableParams tables[Most];
  Limits limits[Limited ? Most : 1];
  Scales scales[Scaled ? Most : 1];
  const void* dense;
  long long dense_stride;  // bytes
  void* out;
  long long out_stride;  // bytes
  unsigned long long* report;
  const void* offsets;  // pooled; one more than bags where spec::has_end
  unsigned long long bags;
  const void* sample_weights;
  long long count;
  void* out_scales;         // or the given one
  const long long* places;  // layout=packed: [tables, 2]
};

// The most thread blocks that make offsets of lengths: each leaves a sum for the others.
constexpr int kMostSums = 256;

struct LengthParams {
  const void* lengths;          // [bags]
  unsigned long long* offsets;  // workspace: [bags + 1]
  unsigned long long* sums;     // workspace: [kMostSums], of blocks, zeros between launches
  unsigned* barrier;            // workspace
  unsigned* ended;              // workspace: a number of blocks
  unsigned long long bags;
  unsigned long long each;  // bags of a block
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_PARAMS_H_
