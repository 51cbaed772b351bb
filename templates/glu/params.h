// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_GLU_PARAMS_H_
#define QUERN_GLU_PARAMS_H_

#include "common/slots.cuh"
#include "glu/gated.cuh"
#include "rows/sums.cuh"

namespace quern::glu {

// scaling=row: of the shared memory for the maxima of warps, before what is kept of a row.
constexpr unsigned kMaximaBytes = 128;

// What a plain call reads is in the first two lines, see common::Slots.
struct Params {
  const void* x;
  long long x_stride;  // elements between rows
  common::Slots slots;
  int width;
  int line;  // numbers of a row of what is quantized
  const void* gradient;
  long long gradient_stride;
  void* out;
  long long out_stride;
  void* x_gradient;
  long long x_gradient_stride;
  const void* gate;
  void* gate_gradient;
  const void* bias;
  const void* scale;
  const void* counts;
  GateNumbers numbers;
  void* bias_gradient;
  void* scale_gradient;
  const void* given_scale;
  void* scales;
  long long rows;  // of all groups
  long long group_rows;
  common::Divisor by_rows;  // of a group
  rows::TileSums sums;
};

}  // namespace quern::glu

#endif  // QUERN_GLU_PARAMS_H_
