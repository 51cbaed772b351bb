// The gradient of the dense part: a copy.
#ifndef QUERN_EMBEDDING_BACKWARD_DENSE_CUH_
#define QUERN_EMBEDDING_BACKWARD_DENSE_CUH_

#include "embedding/backward_sum.cuh"

namespace quern::embedding {

QUERN_DEVICE void copy_dense(const SumParams& p) {
  if constexpr (!spec::dense) return;
  for (u64 slot = thread_of_grid(); slot < p.dense_slots; slot += threads_of_grid()) {
    const u64 row = divide(slot, p.by_dense), byte = (slot - row * p.dense_columns) * kBytes;
    const u8* const from = static_cast<const u8*>(p.gradient) + row * static_cast<u64>(p.gradient_stride);
    u8* const to = static_cast<u8*>(p.dense_gradient) + row * static_cast<u64>(p.dense_stride);
    store<kBytes>(to + byte, load<kBytes>(from + byte));
  }
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_DENSE_CUH_
