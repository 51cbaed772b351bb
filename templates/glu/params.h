// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_GLU_PARAMS_H_
#define QUERN_GLU_PARAMS_H_

#include "common/slots.cuh"
#include "glu/gated.cuh"
#include "rows/sums.cuh"

namespace quern::glu {

// scaling=row: of the shared memory for the maxima of warps, before what is kept of a row.
constexpr unsigned kMaximaBytes = 128;

// First what a thread needs before its first read: each cache line of parameters costs a small launch a wait.
struct Params {
  common::Slots slots;
  const void* x;
  long long x_stride;  // elements between rows
  int width;
  int line;  // numbers of a row of what is quantized
  const void* gradient;
  long long gradient_stride;
  const void* gate;
  const void* bias;
  const void* scale;
  const void* counts;
  void* out;
  long long out_stride;
  GateNumbers numbers;
  void* x_gradient;
  void* gate_gradient;
  long long x_gradient_stride;
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
