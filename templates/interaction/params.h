// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_INTERACTION_PARAMS_H_
#define QUERN_INTERACTION_PARAMS_H_

#include "common/divide.cuh"

namespace quern::interaction {

// Strides are in bytes. A warp has a sample in the form lower, a thread block one, or a part of one, in outer.
struct Params {
  const unsigned char* source;
  const unsigned char* source_end;  // what may be read
  unsigned char* out;               // backward: the gradient of source
  const unsigned char* gradient;    // backward
  const unsigned char* gradient_end;
  long long source_stride;
  long long out_stride;  // of out, or of gradient
  long long batch;
  unsigned features;
  unsigned dim;
  unsigned dense;
  unsigned warp_bytes;        // lower: shared memory of a warp
  common::Divisor32 per_row;  // outer: by the numbers of a sample
  common::Divisor32 parts;    // outer: by parts_of_sample
  unsigned parts_of_sample;   // outer: thread blocks
};

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_PARAMS_H_
