// A family that works in place, with a clearly slow default and a small space: counts[i] += 1.
#ifndef QUERN_TESTS_SUPPORT_COUNTER_H_
#define QUERN_TESTS_SUPPORT_COUNTER_H_

#include <cstdint>

#include "quern/family.h"

namespace quern::test {

struct CounterArgs {
  Out counts = {};
  std::int64_t count = kOpen;
};

struct Counter {
  using Args = CounterArgs;
  std::int64_t count = kOpen;

  static const Family& family();
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_COUNTER_H_
