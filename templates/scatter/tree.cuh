// Segments of more than 32 rows, as rows/tree.cuh says: what a group of threads does for its part of a row.
#ifndef QUERN_SCATTER_TREE_CUH_
#define QUERN_SCATTER_TREE_CUH_

#include "rows/tree.cuh"
#include "scatter/columns.cuh"
#include "scatter/factor.cuh"

namespace quern::scatter {

constexpr int kElements = kVector / static_cast<int>(sizeof(Element));

QUERN_DEVICE void clear(float (&sums)[kElements]) {
#pragma unroll
  for (int e = 0; e < kElements; ++e) sums[e] = kNothing;
}

// The number of a column's element: those of a column are p.columns apart, so that the threads of a warp have adjacent
// ones.
QUERN_DEVICE u64 element_of(const Params& p, u32 column, int e) { return column + static_cast<u64>(e) * p.columns; }

constexpr int kElementBytes = static_cast<int>(sizeof(Element));

QUERN_DEVICE bool has_element(const Params& p, i64 byte) { return byte < p.row_bytes && (!spec::ragged || byte >= 0); }

QUERN_DEVICE void send(const Params& p, const Segment& segment, i64 place, const OutRow& out, u32 column,
                       const float (&sums)[kElements]) {
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    if (has_element(p, out.byte(column) + e * kElementBytes))
      send_sum(word_of<kRowsOfGroup>(p.sums, segment, place, element_of(p, column, e)), sums[e]);
  }
}

QUERN_DEVICE bool arrives_last(const Params& p, u32* arrived, u64 number, const Part& part, u32 all) {
  u32* const counter = arrived + number * p.parts + part.number;
  return is_last(counter, add_relaxed(lane() % kLanes == 0, counter, 1), 1, all, kLanes);
}

// Calls body(element, byte) for the thread's elements of the part, one after the other: this code is rarely run.
template <class Body>
QUERN_DEVICE void for_part(const Params& p, const OutRow& out, const Part& part, const Body& body) {
#pragma unroll 1
  for (u32 u = 0; u < kUnroll; ++u) {
#pragma unroll 1
    for (int e = 0; e < kElements; ++e) {
      const i64 byte = out.byte(part.column(u)) + e * kElementBytes;
      if (has_element(p, byte)) body(element_of(p, part.column(u), e), byte);
    }
  }
}

// A group of a segment has these sums. The last one calls finish(byte, sum) for each element of the part.
template <class Finish>
QUERN_DEVICE void add_to_segment(const Params& p, const Segment& segment, i64 place, const OutRow& out,
                                 const Part& part, const float (&sums)[kUnroll][kElements], const Finish& finish) {
#pragma unroll
  for (u32 u = 0; u < kUnroll; ++u) send(p, segment, place, out, part.column(u), sums[u]);
  const i64 rows = segment.end - segment.head;
  const u32 chunks = pieces(rows, kRowsOfChunk), chunk = static_cast<u32>((place - segment.head) / kRowsOfChunk);
  const i64 first = segment.head + static_cast<i64>(chunk) * kRowsOfChunk;
  const u32 groups = chunk + 1 < chunks ? kGroupsOfChunk : pieces(segment.end - first, kRowsOfGroup);
  if (!arrives_last(p, p.sums.groups, number_of<kRowsOfGroup>(segment, first), part, groups)) return;
  for_part(p, out, part, [&](u64 element, i64 byte) {
    const float sum = collect<kRowsOfGroup>(p.sums, segment, first, groups, element);
    if (chunks == 1) return finish(byte, sum);
    send_sum(word_of<kRowsOfChunk>(p.sums, segment, first, element), sum);
  });
  if (chunks == 1 || !arrives_last(p, p.sums.chunks, number_of<kRowsOfGroup>(segment, segment.head), part, chunks))
    return;
  for_part(p, out, part, [&](u64 element, i64 byte) {
    finish(byte, collect<kRowsOfChunk>(p.sums, segment, segment.head, chunks, element));
  });
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_TREE_CUH_
