// Plans that have of each step the one image that a launch takes, for tests of many problems on the CPU: compiles are
// most of their time, and a third of the images that a plan has are never launched.
#ifndef QUERN_TESTS_SUPPORT_TAKEN_H_
#define QUERN_TESTS_SUPPORT_TAKEN_H_

#include <string>

#include "driver/device.h"
#include "quern/runtime.h"

namespace quern::test {

// The family of `asked` as a plan has it that makes only the variants which a launch of `closed` takes, with each
// operand `offset` elements past a 256-byte boundary. Launches still check addresses. The family itself where `config`
// changes a variant that is not taken: its plans refuse a config that is not legal. Thread-safe; what it returns
// lives as long as the process.
const Family& with_taken_variants(const AnyProblem& asked, const AnyProblem& closed, int offset, const Device& device,
                                  const std::string& config);

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_TAKEN_H_
