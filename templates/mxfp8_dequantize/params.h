// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_MXFP8_DEQUANTIZE_PARAMS_H_
#define QUERN_MXFP8_DEQUANTIZE_PARAMS_H_

#include "common/slots.cuh"
#include "mx/scale_params.cuh"

namespace quern::mxfp8_dequantize {

// A slot is a vector of out, and as many elements of source; the rows of all experts count as one sequence.
struct Params {
  const void* noop;  // a float; 1: nothing is done
  const void* source;
  const void* scales;
  void* out;
  long long rows;  // of an expert
  long long cols;
  long long source_stride;
  long long expert_gap;  // from an expert's last row to the next one's first, beyond source_stride
  mx::ScaleParams shape;
  common::Slots slots;
  common::Divisor by_rows;
};

}  // namespace quern::mxfp8_dequantize

#endif  // QUERN_MXFP8_DEQUANTIZE_PARAMS_H_
