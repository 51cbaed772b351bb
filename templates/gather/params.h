// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_GATHER_PARAMS_H_
#define QUERN_GATHER_PARAMS_H_

#include "common/slots.cuh"
#include "gather/gather_choices.h"

namespace quern::gather {

using Mode = GatherMode;

struct Params {
  const void* source;
  const void* source_end;  // packed windows; null: not known, or rows have gaps
  const void* index;
  const void* scale;
  void* out;
  unsigned long long* report;
  long long rows;
  long long count;
  common::Divisor by_count;
  long long source_stride;  // bytes
  long long out_stride;     // bytes
  long long row_bytes;
  long long out_bytes;  // packed windows: of all rows
  // Vectors of a row; ragged form: 16-byte windows that a row can touch, or, of short rows without gaps, those that out
  // can touch, and by_row divides bytes by row_bytes. By row, count is of threads.
  common::Slots slots;
};

}  // namespace quern::gather

#endif  // QUERN_GATHER_PARAMS_H_
