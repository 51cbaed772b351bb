// Of a maximum: for each id a bit for each element of its row that is the first of the bag to have it. A warp has a
// bag, and each of its threads an element at a time.
#ifndef QUERN_EMBEDDING_BACKWARD_WINNERS_CUH_
#define QUERN_EMBEDDING_BACKWARD_WINNERS_CUH_

#include "embedding/backward_bag.cuh"

namespace quern::embedding {

static_assert(kElements == 1 && kLanes == 32, "a bit for each thread");

struct Winner {
  i64 position;  // -1: none, or one without a row
  float value;
};

// Of NaNs the first too.
QUERN_DEVICE bool is_larger(float value, float than) { return value > than || (value != value && than == than); }

template <class T>
QUERN_DEVICE Winner winner_of(const BagParams& p, const OwnBag& bag, u32 column) {
  Winner best = {-1, 0.0f};
  bool any = false;
#pragma unroll 1
  for (i64 position = bag.ids.begin; position < bag.ids.end; ++position) {
    Row row = bag.row_at(p, position);
    if (!row.counted) continue;
    const bool named = row.read;
    row.read = named && column < bag.columns;
    Piece<T> piece;
    piece.read(bag.source, bag.first + column, row);
    Numbers value;
    piece.values(value);
    if (!any || is_larger(value[0], best.value)) best = {named ? position : -1, value[0]};
    any = true;
  }
  return best;
}

// Each different winner of 32 columns stores its bits once.
QUERN_DEVICE void store_winners(const BagParams& p, u32 word, i64 position) {
  u32 left = __ballot_sync(~0u, position >= 0);
#pragma unroll 1
  while (left != 0) {
    const int leader = __ffs(static_cast<int>(left)) - 1;
    const i64 winner = __shfl_sync(~0u, position, leader);
    const u32 bits = __ballot_sync(~0u, position == winner);
    if (lane() == static_cast<u32>(leader)) store<4>(p.winners + winner * p.words_of_id + word, Vector<4>{{bits}});
    left &= ~bits;
  }
}

struct StoreWinners {
  const BagParams& p;
  const OwnBag& bag;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
#pragma unroll 1
    for (u32 first = 0; first < bag.columns; first += 32) {
      const u32 column = first + lane();
      const Winner winner = winner_of<T>(p, bag, column);
      store_winners(p, first / 32, column < bag.columns ? winner.position : -1);
    }
  }
};

QUERN_DEVICE void read_bag(const BagParams& p, u32 number) {
  if (number >= p.bags) return;
  const OwnBag bag = own_bag(p, number);
  with_type(bag.source.table.type, StoreWinners{p, bag});
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_WINNERS_CUH_
