// A family whose configs are wrong, each in a different way, to test the correctness check. out[r, c] = x[r, c] + 1.
#ifndef QUERN_TESTS_SUPPORT_FLAWED_H_
#define QUERN_TESTS_SUPPORT_FLAWED_H_

#include <cstdint>

#include "quern/family.h"
#include "support/flawed/flawed_choices.h"

namespace quern::test {

struct FlawedArgs {
  In x = {};
  Out out = {};
  std::int64_t rows = kOpen;
};

struct Flawed {
  using Args = FlawedArgs;
  std::int64_t rows = kOpen;
  std::int64_t width = 100;
  std::int64_t out_stride = 0;  // 0: width

  static const Family& family();
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_FLAWED_H_
