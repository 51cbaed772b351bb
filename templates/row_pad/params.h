// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_ROW_PAD_PARAMS_H_
#define QUERN_ROW_PAD_PARAMS_H_

#include "common/slots.cuh"

namespace quern::row_pad {

// A slab is `align` rows of the padded matrix, of one group or after the last group. A thread block processes a piece
// of a slab.
struct Params {
  const void* noop;  // a float; 1: nothing is done
  const void* source;
  void* out;
  void* starts;
  void* ends;
  long long rows;  // that are not padded
  long long row_bytes;
  long long align;
  common::Divisor by_align;
  common::Divisor by_pieces;
  unsigned pieces;  // of a slab
  const void* offsets;
  int* status;
  unsigned groups;
};

}  // namespace quern::row_pad

#endif  // QUERN_ROW_PAD_PARAMS_H_
