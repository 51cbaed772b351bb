// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_GLU_PARAMS_H_
#define QUERN_GLU_PARAMS_H_

#include "common/slots.cuh"
#include "glu/gated.cuh"
#include "rows/sums.cuh"

namespace quern::glu {

struct Params {
  const void* x;
  const void* gate;
  const void* bias;
  const void* scale;
  const void* counts;
  const void* gradient;
  void* out;
  void* x_gradient;
  void* gate_gradient;
  void* bias_gradient;
  void* scale_gradient;
  const void* given_scale;
  void* scales;
  long long x_stride;  // elements between rows
  long long out_stride;
  long long gradient_stride;
  long long x_gradient_stride;
  long long rows;  // of all groups
  long long group_rows;
  int width;
  int line;  // numbers of a row of what is quantized
  GateNumbers numbers;
  common::Divisor by_rows;  // of a group
  common::Slots slots;
  rows::TileSums sums;
};

}  // namespace quern::glu

#endif  // QUERN_GLU_PARAMS_H_
