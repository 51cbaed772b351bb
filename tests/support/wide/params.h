#ifndef QUERN_WIDE_PARAMS_H_
#define QUERN_WIDE_PARAMS_H_

namespace quern::wide {

constexpr int kValues = 1000;

struct Params {
  int* out;
  unsigned* arrived;
  long long blocks;
  int values[kValues];  // with them 4,024 bytes: more than any family of the library passes
};

}  // namespace quern::wide

#endif  // QUERN_WIDE_PARAMS_H_
