// Plans with one image a step, the one that a test's launch takes. For tests of many problems on the CPU: compiles are
// most of their time, and a third of the images of whole plans are never launched.
#ifndef QUERN_TESTS_SUPPORT_TAKEN_H_
#define QUERN_TESTS_SUPPORT_TAKEN_H_

#include <string>

#include "driver/device.h"
#include "quern/runtime.h"

namespace quern::test {

// A copy of the family of `asked` that has of each step one variant: the one that a launch of `closed` takes, with each
// operand `offset` elements past a 256-byte boundary. A launch at other addresses is refused as of any plan. Where
// `config` changes a step whose first variant is not taken, the family itself: configs apply to first variants, and an
// illegal one must still be refused. Thread-safe. A copy is never freed.
const Family& with_taken_variants(const AnyProblem& asked, const AnyProblem& closed, int offset, const Device& device,
                                  const std::string& config);

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_TAKEN_H_
