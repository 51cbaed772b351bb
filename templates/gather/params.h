// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_GATHER_PARAMS_H_
#define QUERN_GATHER_PARAMS_H_

#include "common/slots.cuh"
#include "gather/gather_choices.h"

namespace quern::gather {

using Mode = GatherMode;

// Of a part of packed windows, which begin with out: 16 rows are as many windows as a row has bytes, below 256. So a
// part has less than 2^30 bytes.
constexpr int kMostPackedRows = 1 << 22;

// What a lane reads before its first element comes first, see common::Slots.
struct Params {
  const void* source;
  const void* index;
  long long source_stride;      // bytes
  unsigned long long out_rows;  // by row: of all matrices
  // Vectors of a row; ragged form: 16-byte windows that a row can touch, or, of short rows without gaps, those that out
  // can touch, and by_row divides bytes by row_bytes.
  common::Slots slots;
  void* out;
  long long out_stride;    // bytes
  const void* source_end;  // packed windows; null: not known, or rows have gaps
  const void* scale;
  unsigned long long* report;
  long long rows;
  long long count;
  common::Divisor by_count;
  long long row_bytes;
  unsigned long long inner_bytes;  // packed windows: rows that begin 32 to 31 + inner_bytes bytes after source have 32
                                   // bytes of it before and after them
  int end_of_last;                 // packed windows: of the bytes of the last one
};

}  // namespace quern::gather

#endif  // QUERN_GATHER_PARAMS_H_
