// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_MX_SCALES_PARAMS_H_
#define QUERN_MX_SCALES_PARAMS_H_

#include "common/divide.cuh"
#include "mx/scale_params.cuh"

namespace quern::mx_scales {

// A strip is the atoms of 128 lines; for a group in the col direction, the atoms of 4 blocks. A thread block processes
// a piece of a strip, a thread a 16-byte unit of an atom.
struct Params {
  const void* noop;  // a float; 1: nothing is done
  const void* source;
  void* out;
  mx::ScaleParams shape;  // of an expert, or of all groups
  long long rows;         // of all groups
  common::Divisor by_pieces;
  common::Divisor by_strips;
  unsigned pieces;  // of a strip
  unsigned strips;  // of an expert
  unsigned beside;  // adjacent atoms of a line that neighbouring threads process: a power of two
  const void* offsets;
  int* status;
  unsigned groups;
};

}  // namespace quern::mx_scales

#endif  // QUERN_MX_SCALES_PARAMS_H_
