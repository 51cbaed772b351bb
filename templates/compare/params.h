#ifndef QUERN_COMPARE_PARAMS_H_
#define QUERN_COMPARE_PARAMS_H_

namespace quern::compare {

struct Params {
  const void* a;
  const void* b;
  unsigned long long* first;
  unsigned long long bytes;
};

}  // namespace quern::compare

#endif  // QUERN_COMPARE_PARAMS_H_
