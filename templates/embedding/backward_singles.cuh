// Rows that one id names, as most are where tables are large. A group of threads reads several, with their gradients,
// before it stores the first.
#ifndef QUERN_EMBEDDING_BACKWARD_SINGLES_CUH_
#define QUERN_EMBEDDING_BACKWARD_SINGLES_CUH_

#include "embedding/backward_update.cuh"

namespace quern::embedding {

// A thread has a slot of a row, and the tables have one type.
constexpr bool kTakesSingles = spec::one_slot && (spec::types & (spec::types - 1)) == 0;

template <class T>
struct Single {
  u32 value;
  u32 table;
  Key key;
  bool named;   // there is one
  bool inside;  // of its row the thread has a slot
  GradientSlot gradient;
  OldSlot<T> old;
  float moment;

  QUERN_DEVICE void read(const SumParams& p, u32 column) {
    table = place_of(p, value).table;
    const Target target = target_of(p, table, key);
    inside = named && column < target.table.columns;
    old.read(target, column, inside);
    if constexpr (kAdagrad) moment = bit_cast<float>(load_if<4>(named, target.moment_of_row()));
    gradient.read(p, value, column, inside);
  }

  QUERN_DEVICE void put(const SumParams& p, u32 column) {
    const Target target = target_of(p, table, key);
    Numbers sums;
#pragma unroll
    for (int e = 0; e < kElements; ++e) sums[e] = kNothing;
    gradient.add_to(sums);
    float rate = p.numbers.learning_rate;
    if constexpr (kAdagrad)
      rate = adagrad_rate(~0u, p.numbers, target, moment, add_squares(~0u, kNothing, sums, inside), named);
    if (inside) store_slot<T>(p, target, column, old, rate, sums);
  }
};

// All lanes of the warp call it, with the values of their places. Most places are singles, so groups of threads have
// every kGroups-th place each: to give them singles only would take longer than to pass over the others.
template <class T>
QUERN_DEVICE void put_singles(const SumParams& p, const SortedWindow& window, u32 value, u32 singles) {
  const u32 column = lane() % kLanes;
  const Key key = static_cast<Key>(window.row);
#pragma unroll 1
  for (u32 first = 0; singles >> first != 0; first += kGroups * kBatch) {
    Single<T> some[kBatch];
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      const u32 at = first + i * kGroups + rows::group_of_warp();
      some[i].named = at < 32 && (singles >> at & 1) != 0;
      const u32 found = __shfl_sync(~0u, value, static_cast<int>(at));
      some[i].value = some[i].named ? found : 0;
      some[i].key = __shfl_sync(~0u, key, static_cast<int>(at));
    }
#pragma unroll
    for (Single<T>& one : some) one.read(p, column);
#pragma unroll
    for (Single<T>& one : some) one.put(p, column);
    if (first + kGroups * kBatch >= 32) break;
  }
}

struct PutSingles {
  const SumParams& p;
  const SortedWindow& window;
  u32 singles;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
    const i64 place = window.first + lane();
    put_singles<T>(p, window, place < p.count ? word_at(p.sorted.values, place) : 0, singles);
  }
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_SINGLES_CUH_
