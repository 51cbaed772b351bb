#ifndef QUERN_JOINED_PARAMS_H_
#define QUERN_JOINED_PARAMS_H_

namespace quern::joined {

constexpr int kMostSources = 64;

struct Params {
  const float* sources[kMostSources];
  long long first[kMostSources + 1];  // the column of out where a source begins; after the last: the width of out
  float* out;
  long long rows;
  long long add;
};

}  // namespace quern::joined

#endif  // QUERN_JOINED_PARAMS_H_
