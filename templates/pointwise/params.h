// What the host hands the kernel. Read by both.
#ifndef QUERN_POINTWISE_PARAMS_H_
#define QUERN_POINTWISE_PARAMS_H_

#include "common/slots.cuh"
#include "pointwise/pointwise_choices.h"

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
  long long width;   // of a row; of everything where the kernel sees one long row
  long long period;  // the true width of a row, at whose end broadcasts start again
  float multiplier;
  float alpha;
  common::Divisor by_period;
  common::Slots slots;
};

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_PARAMS_H_
