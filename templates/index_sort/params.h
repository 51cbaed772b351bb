// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_INDEX_SORT_PARAMS_H_
#define QUERN_INDEX_SORT_PARAMS_H_

#include "sort/buffers.cuh"

namespace quern::index_sort {

// The most bits of a digit.
constexpr int kMostBits = 8;

struct Params : sort::Buffers {  // out: sorted and order
  const void* index;
  long long rows;
};

}  // namespace quern::index_sort

#endif  // QUERN_INDEX_SORT_PARAMS_H_
