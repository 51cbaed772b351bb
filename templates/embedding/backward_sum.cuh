// What the parts of the kernel that sums gradients share.
#ifndef QUERN_EMBEDDING_BACKWARD_SUM_CUH_
#define QUERN_EMBEDDING_BACKWARD_SUM_CUH_

#include "common/numbers.cuh"
#include "common/sync.cuh"
#include "embedding/backward_offsets.cuh"
#include "embedding/backward_params.cuh"
#include "rows/runs.cuh"
#include "rows/tree.cuh"
#include "sort/item.cuh"
#include "spec.cuh"

namespace quern::embedding {

using SumParams = SumParamsOf<spec::most>;
using Gradient = spec::Gradient;
using rows::Group;
using rows::kAfterAll;
using rows::kBeforeAll;
using rows::kGroups;
using rows::kLanes;
using rows::kNothing;
using rows::kRowsOfChunk;
using rows::kRowsOfGroup;
using rows::lane;
using rows::mask_of_group;
using rows::Segment;
using rows::SortedWindow;
using sort::Key;

constexpr int kElements = spec::elements;
constexpr int kBytes = kElements * static_cast<int>(sizeof(Gradient));
using Numbers = float[kElements];

QUERN_DEVICE u64 thread_of_grid() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
QUERN_DEVICE u64 threads_of_grid() { return static_cast<u64>(gridDim.x) * blockDim.x; }

// Words that the kernel clears at the end, so they are not read through the read-only path.
QUERN_DEVICE u32 word_at(const u32* words, i64 at) { return load<4>(words + at).w[0]; }

QUERN_DEVICE Key key_at(const SumParams& p, i64 place) {
  const u32 low = word_at(p.sorted.keys, place);
  if constexpr (!spec::wide_keys) return low;
  return static_cast<Key>(static_cast<u64>(word_at(p.sorted.highs, place)) << sort::kFlagBit | low);
}

// For rows/runs.cuh: ids without a row are last.
QUERN_DEVICE i64 row_at(const SumParams& p, i64 place) {
  if (place < 0) return kBeforeAll;
  if (place >= p.count) return kAfterAll;
  const Key key = key_at(p, place);
  return key == static_cast<Key>(p.rows) ? kAfterAll : static_cast<i64>(key);
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_SUM_CUH_
