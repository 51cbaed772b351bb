// A sum over the columns of a row, which a group of threads has: blocks of 32 adjacent columns are added up in a tree,
// and the blocks one after the other. So no number of lanes, or of elements of a thread, changes a bit of it.
#ifndef QUERN_EMBEDDING_BACKWARD_ROW_SUM_CUH_
#define QUERN_EMBEDDING_BACKWARD_ROW_SUM_CUH_

#include "rows/lanes.cuh"
#include "rows/segment_sums.cuh"

namespace quern::embedding {

// What the group's threads have of so many adjacent columns, kNothing beyond the last, is added to `sum`. All threads
// of a group call it. `mask`: the lanes that do; where it is a constant, a shuffle is one instruction, else some
// twenty.
template <int N>
QUERN_DEVICE float add_columns(u32 mask, float sum, float (&values)[N]) {
  using namespace rows;
  constexpr u32 kLanesOfBlock = 32 / N < kLanes ? 32 / N : kLanes;
#pragma unroll
  for (int half = 1; half < N; half *= 2) {
#pragma unroll
    for (int i = 0; i < N; i += 2 * half) values[i] += values[i + half];
  }
  float block = values[0];
#pragma unroll
  for (u32 apart = 1; apart < kLanesOfBlock; apart *= 2) block += __shfl_xor_sync(mask, block, static_cast<int>(apart));
#pragma unroll
  for (u32 first = 0; first < kLanes; first += kLanesOfBlock)
    sum += __shfl_sync(mask, block, static_cast<int>(first), static_cast<int>(kLanes));
  return sum;
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_ROW_SUM_CUH_
