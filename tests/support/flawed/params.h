#ifndef QUERN_FLAWED_PARAMS_H_
#define QUERN_FLAWED_PARAMS_H_

namespace quern::flawed {

struct Params {
  float* x;
  float* out;
  long long rows;
  long long width;
  long long out_stride;
};

}  // namespace quern::flawed

#endif  // QUERN_FLAWED_PARAMS_H_
