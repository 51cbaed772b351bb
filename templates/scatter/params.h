// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_SCATTER_PARAMS_H_
#define QUERN_SCATTER_PARAMS_H_

#include "common/slots.cuh"
#include "rows/segment_sums.cuh"

namespace quern::scatter {

// With unique indices: what blocks tell each other, as words that are 0 between launches.
struct Named {
  unsigned* barrier;
  unsigned* ended;            // a number of blocks
  unsigned* positions;        // [rows, groups]: the position whose index names the row, plus 1
  unsigned long long pieces;  // of a row: its parts in all matrices, which its groups take in turn
  unsigned long long all;     // groups of all rows
  common::Divisor by_groups;
  unsigned groups;  // of lanes, that share a row
};

struct Params {
  const void* source;
  const void* source_end;  // null: not known, or rows have gaps
  const void* index;
  const int* order;
  const void* scale;
  void* out;
  const void* gradient;  // these three: backward
  void* source_gradient;
  void* scale_gradient;
  long long rows;
  long long count;
  common::Divisor by_count;  // without order
  long long outer;           // backward
  long long source_stride;   // bytes
  long long out_stride;      // bytes
  long long row_bytes;
  common::Slots slots;  // without order: as gather's
  // With order, and backward:
  unsigned long long windows;  // of positions; with order only
  unsigned long long numbers;  // of a matrix: windows, then blocks of rows that may be zeros; with order only
  common::Divisor by_numbers;
  unsigned long long items;  // with order for a warp each: numbers of all matrices, times parts
  common::Divisor by_parts;
  unsigned parts;    // of a row
  unsigned columns;  // of a row, one access each
  float alpha;
  rows::SegmentSums sums;  // of the first matrix; those of the next are `words` further
  unsigned long long words;
  Named named;  // with unique indices
};

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_PARAMS_H_
