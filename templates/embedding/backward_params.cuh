// The parameter structs of the backward pass's kernels. Read by host and kernel.
#ifndef QUERN_EMBEDDING_BACKWARD_PARAMS_CUH_
#define QUERN_EMBEDDING_BACKWARD_PARAMS_CUH_

#include "common/divide.cuh"
#include "embedding/params.h"
#include "rows/segment_sums.cuh"
#include "sort/buffers.cuh"

namespace quern::embedding {

using Optimizer = EmbeddingOptimizer;

// By which ids are found and become rows, as in the forward pass.
template <int Most>
using IdParamsOf = ParamsOf<Most, true, false>;

template <int Most>
struct SortParamsOf : sort::Buffers {
  IdParamsOf<Most> ids;
  unsigned long long base[Most];  // rows of the tables before
  unsigned long long rows;        // of all tables: the key of an id without a row
  unsigned bags;
  common::Divisor32 by_divisor;  // the number of tables without pooling, else the batch
};

template <int Most>
struct BagParamsOf {
  IdParamsOf<Most> ids;  // its tables are those whose rows are read
  const void* gradient;
  long long gradient_stride;      // bytes
  void* sample_weights_gradient;  // [count]
  unsigned* counts;               // [bags]: ids that a mean counts
  unsigned* winners;              // [count, words_of_id]: see Workspace
  unsigned words_of_id;
  unsigned bags;
  common::Divisor32 by_batch;
};

struct SumTable {
  unsigned long long at;  // row 0 of what is written
  unsigned long long moments;
  unsigned long long squares;
  unsigned long long base;  // the key of row 0
  unsigned stride;          // bytes
  unsigned first;           // byte of a row of the gradient where its columns begin
  unsigned columns : 28;
  unsigned type : 4;  // RowType
};

struct Numbers32 {
  float learning_rate;
  float epsilon;
  float beta1;
  float beta2;
  float rest1;        // 1 - beta1
  float rest2;        // 1 - beta2
  float correction1;  // 1 - beta1^step
  float correction2;  // 1 - beta2^step
};

template <int Most>
struct SumParamsOf {
  sort::Pairs sorted;
  long long count;
  unsigned long long windows;  // of places in that order, for a warp each
  unsigned long long rows;     // the key of an id without a row
  unsigned bags;
  common::Divisor32 by_divisor;  // of values, or of bags: the number of tables without pooling, else the batch
  unsigned divisor;
  const void* gradient;
  long long gradient_stride;  // bytes
  const void* offsets;
  const void* sample_weights;
  const unsigned* counts;
  const unsigned* winners;
  unsigned words_of_id;
  unsigned dense_columns;
  void* dense_gradient;
  long long dense_stride;  // bytes
  unsigned long long dense_slots;
  common::Divisor by_dense;
  rows::SegmentSums sums;
  unsigned* cleared;  // words that are zeros again at the end
  unsigned long long cleared_words;
  unsigned* barrier;
  unsigned* ended;
  unsigned long long seed;
  Numbers32 numbers;
  SumTable tables[Most];
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_PARAMS_CUH_
