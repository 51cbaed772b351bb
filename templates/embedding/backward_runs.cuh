// Runs of ids that name one row. A run of up to 32 is added up by the threads that read its gradients; of a longer one
// groups of 32 leave their sums in the workspace, and the last to arrive adds them up, see rows/tree.cuh.
#ifndef QUERN_EMBEDDING_BACKWARD_RUNS_CUH_
#define QUERN_EMBEDDING_BACKWARD_RUNS_CUH_

#include "embedding/backward_short_runs.cuh"

namespace quern::embedding {

QUERN_DEVICE u64 element_of(const Target& target, u32 column, int e) {
  return column + static_cast<u64>(e) * target.table.columns;
}

QUERN_DEVICE bool arrives_last(u32* arrived, u64 number, u32 all) {
  u32* const counter = arrived + number;
  return is_last(counter, add_relaxed(lane() % kLanes == 0, counter, 1), 1, all, kLanes);
}

QUERN_DEVICE void send_group(const SumParams& p, const Target& target, const Segment& segment, const Group& group) {
#pragma unroll 1
  for (u32 column = lane() % kLanes; column < target.table.columns; column += kLanes) {
    Numbers sums;
    add_group(p, group, column, sums);
#pragma unroll
    for (int e = 0; e < kElements; ++e)
      send_sum(rows::word_of<kRowsOfGroup>(p.sums, segment, group.first, element_of(target, column, e)), sums[e]);
  }
}

// Calls body(element) for those of the thread, one after the other: this code is rarely run.
template <class Body>
QUERN_DEVICE void for_elements(const Target& target, const Body& body) {
#pragma unroll 1
  for (u32 column = lane() % kLanes; column < target.table.columns; column += kLanes) {
#pragma unroll 1
    for (int e = 0; e < kElements; ++e) body(element_of(target, column, e));
  }
}

// Whether the group of threads is the last of a long run, whose sums it has then left in `kept`.
QUERN_DEVICE bool finishes(const SumParams& p, const Target& target, const Segment& segment, const Group& group,
                           u32*& kept) {
  send_group(p, target, segment, group);
  const i64 all = segment.end - segment.head;
  const u32 chunks = rows::pieces(all, kRowsOfChunk);
  const u32 chunk = static_cast<u32>((group.first - segment.head) / kRowsOfChunk);
  const i64 first = segment.head + static_cast<i64>(chunk) * kRowsOfChunk;
  const u32 groups = chunk + 1 < chunks ? rows::kGroupsOfChunk : rows::pieces(segment.end - first, kRowsOfGroup);
  if (!arrives_last(p.sums.groups, rows::number_of<kRowsOfGroup>(segment, first), groups)) return false;
  kept = chunks == 1 ? rows::word_of<kRowsOfGroup>(p.sums, segment, segment.head, 0)
                     : rows::word_of<kRowsOfChunk>(p.sums, segment, segment.head, 0);
  for_elements(target, [&](u64 element) {
    const float sum = rows::collect<kRowsOfGroup>(p.sums, segment, first, groups, element);
    if (chunks == 1)
      store_relaxed(kept + element, bit_cast<u32>(sum));
    else
      send_sum(rows::word_of<kRowsOfChunk>(p.sums, segment, first, element), sum);
  });
  if (chunks == 1) return true;
  if (!arrives_last(p.sums.chunks, rows::number_of<kRowsOfGroup>(segment, segment.head), chunks)) return false;
  for_elements(target, [&](u64 element) {
    const float sum = rows::collect<kRowsOfChunk>(p.sums, segment, segment.head, chunks, element);
    store_relaxed(kept + element, bit_cast<u32>(sum));
  });
  return true;
}

// A row's sums: those that a long run has kept, or made of the gradients of a short one.
struct RowSums {
  const SumParams& p;
  const Target& target;
  const Group& group;
  u32* kept;  // null: of a short run

  // `last`: they are not asked for again.
  QUERN_DEVICE void get(u32 column, bool last, Numbers& sums) const {
    if (kept == nullptr) return add_group(p, group, column, sums);
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      u32* const word = kept + element_of(target, column, e);
      sums[e] = bit_cast<float>(load_relaxed(word));
      if (last) store_relaxed(word, 0);
    }
  }
};

QUERN_DEVICE void put_group(const SumParams& p, const SortedWindow& window, u32 at, const Group& group, i64 head) {
  const Place place = place_of(p, word_at(p.sorted.values, group.first));
  const Target target = target_of(p, place.table, key_at(p, group.first));
  u32* kept = nullptr;
  if (head >= 0 && !finishes(p, target, rows::segment_of(p, head, window, at), group, kept)) return;
  update_row(p, target, RowSums{p, target, group, kept});
}

QUERN_DEVICE void sum_runs(const SumParams& p) {
  const u64 warps = threads_of_grid() / 32;
#pragma unroll 1
  for (u64 number = thread_of_grid() / 32; number < p.windows; number += warps) {
    const SortedWindow window = rows::window_at<true>(p, static_cast<i64>(number * spec::positions));
    const u32 short_runs = kTakesShortRuns ? rows::short_segments(window) : 0;
    if constexpr (kTakesShortRuns) with_type(p.tables[0].type, PutShortRuns{p, window, short_runs});
    if (kTakesShortRuns && rows::has_only(window, short_runs)) continue;
    const auto put = [&](u32 at, const Group& group, i64 head) { put_group(p, window, at, group, head); };
    rows::for_groups(p, window, put, short_runs);
    __syncwarp();
  }
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_RUNS_CUH_
