// The ids that a mean has counted.
#ifndef QUERN_EMBEDDING_BACKWARD_COUNTS_CUH_
#define QUERN_EMBEDDING_BACKWARD_COUNTS_CUH_

#include "embedding/backward_bag.cuh"

namespace quern::embedding {

QUERN_DEVICE void read_bag(const BagParams& p, u32 number) {
  if (number >= p.bags) return;
  const OwnBag bag = own_bag(p, number);
  int counted = 0;
#pragma unroll 1
  for (i64 first = bag.ids.begin; first < bag.ids.end; first += kLanes)
    counted += __popc(__ballot_sync(mask_of_group(), bag.row_at(p, first + lane() % kLanes).counted));
  if (lane() % kLanes == 0) store<4>(p.counts + number, Vector<4>{{static_cast<u32>(counted)}});
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_COUNTS_CUH_
