// Runs one case on the current context's device against the reference.
#ifndef QUERN_TESTS_SUPPORT_CHECK_H_
#define QUERN_TESTS_SUPPORT_CHECK_H_

#include <string>

#include "driver/driver.h"
#include "quern/runtime.h"
#include "support/cases.h"

namespace quern::test {

struct CheckResult {
  std::string failure;  // empty: right
  double max_error = 0;
};

// Fresh data with infinities and NaNs, poisoned outputs, and with `guards` guard bands and a second launch whose bits
// must agree; without, exact allocations for compute-sanitizer and for huge cases. The plan is prepared with its
// extents open where `open` says so.
CheckResult check_case(Runtime& runtime, const Driver& driver, const Case& c, std::uint64_t seed, bool open,
                       bool guards = true);

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_CHECK_H_
