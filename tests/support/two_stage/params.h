#ifndef QUERN_TWO_STAGE_PARAMS_H_
#define QUERN_TWO_STAGE_PARAMS_H_

namespace quern::two_stage {

constexpr int kChunk = 256;  // numbers that one thread adds up

struct Params {
  const float* x;
  float* sums;
  long long count;   // of x
  long long length;  // of a chunk
};

}  // namespace quern::two_stage

#endif  // QUERN_TWO_STAGE_PARAMS_H_
