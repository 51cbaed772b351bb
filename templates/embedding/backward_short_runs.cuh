// Rows that one or two ids name, as most are where tables are large. A group of threads reads several, with their
// gradients, before it stores the first.
#ifndef QUERN_EMBEDDING_BACKWARD_SHORT_RUNS_CUH_
#define QUERN_EMBEDDING_BACKWARD_SHORT_RUNS_CUH_

#include "embedding/backward_update.cuh"

namespace quern::embedding {

// A thread has a slot of a row, and the tables have one type.
constexpr bool kTakesShortRuns = spec::one_slot && (spec::types & (spec::types - 1)) == 0;

template <class T>
struct ShortRun {
  u32 values[2];  // of the first id, and of the second one
  u32 table;
  Key key;
  bool named;   // there is a run
  bool two;     // it has two ids
  bool inside;  // of its row the thread has a slot
  GradientSlot gradients[2];
  OldSlot<T> old;
  float moment;

  QUERN_DEVICE void read(const SumParams& p, u32 column) {
    table = place_of(p, values[0]).table;
    const Target target = target_of(p, table, key);
    inside = named && column < target.table.columns;
    old.read(target, column, inside);
    if constexpr (kAdagrad) moment = bit_cast<float>(load_if<4>(named, target.moment_of_row()));
    gradients[0].read(p, values[0], column, inside);
    gradients[1].read(p, values[1], column, inside && two);
  }

  QUERN_DEVICE void add_up(Numbers& sums) const {
    Numbers both;
#pragma unroll
    for (int e = 0; e < kElements; ++e) sums[e] = kNothing;
    gradients[0].add_to(sums);
#pragma unroll
    for (int e = 0; e < kElements; ++e) both[e] = sums[e];
    gradients[1].add_to(both);
#pragma unroll
    for (int e = 0; e < kElements; ++e) sums[e] = two ? both[e] : sums[e];
  }

  QUERN_DEVICE void put(const SumParams& p, u32 column) {
    const Target target = target_of(p, table, key);
    Numbers sums;
    add_up(sums);
    float rate = p.numbers.learning_rate;
    if constexpr (kAdagrad)
      rate = adagrad_rate(~0u, p.numbers, target, moment, add_squares(~0u, kNothing, sums, inside), named);
    if (inside) store_slot<T>(p, target, column, old, rate, sums);
  }
};

// All lanes of the warp call it, with the values of their places. Most places begin a short run, so groups of threads
// have every kGroups-th place each: to give them such places only would take longer than to pass over the others.
template <class T>
QUERN_DEVICE void put_short_runs(const SumParams& p, const SortedWindow& window, u32 value, u32 short_runs) {
  const u32 column = lane() % kLanes;
  const Key key = static_cast<Key>(window.row);
#pragma unroll 1
  for (u32 first = 0; first < 32 && short_runs >> first != 0; first += kGroups * kBatch) {
    ShortRun<T> some[kBatch];
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      ShortRun<T>& run = some[i];
      const u32 at = first + i * kGroups + rows::group_of_warp();
      run.named = at < 32 && (short_runs >> at & 1) != 0;
      run.two = run.named && (window.heads >> (at + 1) & 1) == 0;
      const u32 one = __shfl_sync(~0u, value, static_cast<int>(at));
      const u32 next = __shfl_sync(~0u, value, static_cast<int>(at + 1));
      run.values[0] = run.named ? one : 0;
      run.values[1] = run.two ? next : 0;
      run.key = __shfl_sync(~0u, key, static_cast<int>(at));
    }
#pragma unroll
    for (ShortRun<T>& run : some) run.read(p, column);
#pragma unroll
    for (ShortRun<T>& run : some) run.put(p, column);
  }
}

struct PutShortRuns {
  const SumParams& p;
  const SortedWindow& window;
  u32 short_runs;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
    const i64 place = window.first + lane();
    put_short_runs<T>(p, window, place < p.count ? word_at(p.sorted.values, place) : 0, short_runs);
  }
};

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_SHORT_RUNS_CUH_
