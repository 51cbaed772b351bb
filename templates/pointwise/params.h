// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_POINTWISE_PARAMS_H_
#define QUERN_POINTWISE_PARAMS_H_

#include "common/slots.cuh"
#include "pointwise/pointwise_choices.h"
#include "rows/sums.cuh"

namespace quern::pointwise {

using quern::Spread;

struct Params {
  const void* x;
  const void* y;
  const void* bias;
  void* out;
  long long x_stride;  // elements between rows
  long long y_stride;
  long long out_stride;
  long long width;   // of a row; of all rows together if the kernel processes them as one row
  long long period;  // the problem's width of a row, after which broadcasts repeat
  float multiplier;
  float alpha;
  // Flat form with broadcasts: the fewest rows that are whole slots together. slots.per_row is of a cycle, slots.count
  // of one cycle in each group of as many as a thread has slots.
  unsigned cycle_rows;
  unsigned tail_block;  // flat form: the block that has the operands' last slot, if that is not whole
  common::Divisor32 by_period;
  common::Slots slots;
};

// Of pass=backward.
struct BackwardParams {
  const void* x;
  const void* y;
  const void* bias;
  const void* gradient;
  void* x_gradient;
  void* y_gradient;
  void* bias_gradient;
  void* multiplier_gradient;
  long long x_stride;  // elements between rows; of the gradients too
  long long y_stride;
  long long gradient_stride;
  long long rows;
  int width;
  float multiplier;
  float alpha;
  common::Slots slots;
  rows::TileSums sums;
};

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_PARAMS_H_
