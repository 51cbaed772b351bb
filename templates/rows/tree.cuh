// The sum of a segment of more than 32 rows. Each of its groups leaves its sum in words that are their own flags; the
// last group of a chunk to arrive adds them up, and the last chunk of a segment the chunks. So one launch is enough, no
// thread block waits for another one to begin, and no order of arrival changes the result.
#ifndef QUERN_ROWS_TREE_CUH_
#define QUERN_ROWS_TREE_CUH_

#include "common/sent_sums.cuh"
#include "rows/segment_sums.cuh"

namespace quern::rows {

using namespace common;

constexpr u32 kGroupsOfChunk = kRowsOfChunk / kRowsOfGroup;

// The number of a long segment's group, or chunk of several, that begins at a place. Of two such whose places have the
// same quotient by its size, one is the head of its segment.
template <u32 Rows>
QUERN_DEVICE u64 number_of(const Segment& segment, i64 place) {
  return static_cast<u64>(place) / Rows * 2 + (place == segment.head ? 1 : 0);
}

// The word of an element for what begins at a place. A word is sent once in a launch, so groups and chunks have words
// of their own.
template <u32 Rows>
QUERN_DEVICE u32* word_of(const SegmentSums& sums, const Segment& segment, i64 place, u64 element) {
  u32* const words = Rows == kRowsOfGroup ? sums.words : sums.chunk_words;
  return words + number_of<Rows>(segment, place) * sums.stride + element;
}

// The sum of what `count` groups or chunks sent, the first at a place. Their words may still be on the way. They
// become 0.
template <u32 Rows>
QUERN_DEVICE float collect(const SegmentSums& sums, const Segment& segment, i64 first, u32 count, u64 element) {
  constexpr u32 kAtOnce = 8;
  const u64 pitch = 2 * sums.stride;
  float sum = kNothing;
#pragma unroll 1
  for (u32 begin = 0; begin < count; begin += kAtOnce) {
    const auto next = [&](u32*& word, u32 i) {
      u32* const now = word;
      word += pitch - (begin + i == 0 && first == segment.head ? sums.stride : 0);
      return now;
    };
    u32* const from = word_of<Rows>(sums, segment, first + static_cast<i64>(begin) * Rows, element);
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

QUERN_DEVICE u32 pieces(i64 all, u32 each) { return static_cast<u32>((all + each - 1) / each); }

}  // namespace quern::rows

#endif  // QUERN_ROWS_TREE_CUH_
