#ifndef QUERN_COUNTER_PARAMS_H_
#define QUERN_COUNTER_PARAMS_H_

namespace quern::counter {

struct Params {
  float* counts;
  long long count;
};

}  // namespace quern::counter

#endif  // QUERN_COUNTER_PARAMS_H_
