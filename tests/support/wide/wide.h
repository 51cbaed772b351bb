// A family that uses features that no family of the library uses: parameters of 4,024 bytes, dynamic shared memory
// above the default limit (opt-in), a cooperative launch, and a programmatic dependent launch.
#ifndef QUERN_TESTS_SUPPORT_WIDE_H_
#define QUERN_TESTS_SUPPORT_WIDE_H_

#include <cstdint>

#include "quern/choice.h"
#include "quern/family.h"

namespace quern::test {

struct WideArgs {
  Out out = {};
  Out arrived = {};
};

#define QUERN_WIDE_LAUNCHES(VALUE) \
  VALUE(plain)                     \
  VALUE(cooperative)               \
  VALUE(programmatic)
enum class WideLaunch : std::uint8_t { QUERN_WIDE_LAUNCHES(QUERN_CHOICE_VALUE) };

struct Wide {
  using Args = WideArgs;
  std::int64_t blocks = 4;
  std::int64_t shared_bytes = 100'000;
  WideLaunch launch = WideLaunch::plain;

  static const Family& family();
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_WIDE_H_
