// Segments of more than 32 rows. Each of their groups leaves its sum in words that are their own flags; the last group
// of a chunk to arrive adds them up, and the last chunk of a segment the chunks. So one launch is enough, no thread
// block waits for another one to begin, and no order of arrival changes the result.
#ifndef QUERN_SCATTER_TREE_CUH_
#define QUERN_SCATTER_TREE_CUH_

#include "common/sent_sums.cuh"
#include "scatter/columns.cuh"
#include "scatter/factor.cuh"

namespace quern::scatter {

constexpr u32 kRowsOfGroup = 32, kGroupsOfChunk = 32, kRowsOfChunk = kRowsOfGroup * kGroupsOfChunk;
constexpr int kElements = kVector / static_cast<int>(sizeof(Element));

// Places [head, end) of the order.
struct Segment {
  i64 head;
  i64 end;
};

QUERN_DEVICE void clear(float (&sums)[kElements]) {
#pragma unroll
  for (int e = 0; e < kElements; ++e) sums[e] = kNothing;
}

// The number of a long segment's group, or chunk of several, that begins at a place. Of two such whose places have the
// same quotient by its size, one is the head of its segment.
template <u32 Rows>
QUERN_DEVICE u64 number_of(const Segment& segment, i64 place) {
  return static_cast<u64>(place) / Rows * 2 + (place == segment.head ? 1 : 0);
}

// The word of an element for what begins at a place. A word is sent once in a launch, so groups and chunks have words
// of their own.
template <u32 Rows>
QUERN_DEVICE u32* word_of(const Params& p, const Segment& segment, i64 place, u64 element) {
  u32* const words = Rows == kRowsOfGroup ? p.sums.words : p.sums.chunk_words;
  return words + number_of<Rows>(segment, place) * p.sums.stride + element;
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
      send_sum(word_of<kRowsOfGroup>(p, segment, place, element_of(p, column, e)), sums[e]);
  }
}

// The sum of what `count` groups or chunks sent, the first at a place. Their words may still be
// on the way. They become 0.
template <u32 Rows>
QUERN_DEVICE float collect(const Params& p, const Segment& segment, i64 first, u32 count, u64 element) {
  constexpr u32 kAtOnce = 8;
  const u64 pitch = 2 * p.sums.stride;
  float sum = kNothing;
#pragma unroll 1
  for (u32 begin = 0; begin < count; begin += kAtOnce) {
    const auto next = [&](u32*& word, u32 i) {
      u32* const now = word;
      word += pitch - (begin + i == 0 && first == segment.head ? p.sums.stride : 0);
      return now;
    };
    u32* const from = word_of<Rows>(p, segment, first + static_cast<i64>(begin) * Rows, element);
    u32 words[kAtOnce];
    u32* word = from;
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) {
      const u32* const at = next(word, i);
      words[i] = begin + i < count ? load_relaxed(at) : 0;
    }
    word = from;
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) {
      u32* const at = next(word, i);
      if (begin + i < count) sum += received(at, words[i]);
    }
  }
  return sum;
}

QUERN_DEVICE bool arrives_last(const Params& p, u32* arrived, u64 number, const Part& part, u32 all) {
  u32* const counter = arrived + number * p.parts + part.number;
  return is_last(counter, add_relaxed(lane() % kLanes == 0, counter, 1), 1, all, kLanes);
}

QUERN_DEVICE u32 pieces(i64 all, u32 each) { return static_cast<u32>((all + each - 1) / each); }

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
    const float sum = collect<kRowsOfGroup>(p, segment, first, groups, element);
    if (chunks == 1) return finish(byte, sum);
    send_sum(word_of<kRowsOfChunk>(p, segment, first, element), sum);
  });
  if (chunks == 1 || !arrives_last(p, p.sums.chunks, number_of<kRowsOfGroup>(segment, segment.head), part, chunks))
    return;
  for_part(p, out, part, [&](u64 element, i64 byte) {
    finish(byte, collect<kRowsOfChunk>(p, segment, segment.head, chunks, element));
  });
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_TREE_CUH_
