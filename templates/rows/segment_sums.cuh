// What groups of threads tell each other about long segments. Read by host and kernel.
#ifndef QUERN_ROWS_SEGMENT_SUMS_CUH_
#define QUERN_ROWS_SEGMENT_SUMS_CUH_

namespace quern::rows {

// The sum of no rows: what is added to it stays as it is, the sign of 0 included.
constexpr float kNothing = -0.0F;

// A segment's rows are added up in groups of 32, these in chunks of 32, and the chunks one after the other.
constexpr unsigned kRowsOfGroup = 32, kRowsOfChunk = 32 * kRowsOfGroup;

// Places [head, end) in sorted order, whose rows are equal.
struct Segment {
  long long head;
  long long end;
};

// Words that are 0 between launches. A place is a group's, see rows/tree.cuh.
struct SegmentSums {
  unsigned* words;        // of groups, [places, stride]: fp32 sums
  unsigned* chunk_words;  // the same of chunks, by places of 1024: a word is sent once in a launch
  unsigned* groups;       // [places, parts]: of the place's chunk, how many groups are summed
  unsigned* chunks;       // [places, parts]: of the place's segment, how many chunks are
  unsigned long long stride;
};

}  // namespace quern::rows

#endif  // QUERN_ROWS_SEGMENT_SUMS_CUH_
