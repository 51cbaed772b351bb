// Runs one case on the current context's device against the reference.
#ifndef QUERN_TESTS_SUPPORT_CHECK_H_
#define QUERN_TESTS_SUPPORT_CHECK_H_

#include <string>

#include "driver/driver.h"
#include "quern/runtime.h"
#include "support/cases.h"

namespace quern::test {

struct CheckResult {
  std::string failure;  // empty: correct
  double max_error = 0;
};

struct CheckOptions {
  std::uint64_t seed = 1;
  bool open = false;   // the plan is prepared with its extents open
  bool guards = true;  // guard bands around the operands; else exact allocations, so that tools detect accesses outside
  bool taken_only = false;  // the plan has the variant that the launch takes, and no other: support/taken.h
  bool twice = true;  // a second launch must give the same bits; the host driver uses another order of threads for it
};

// The problem with its extents open.
AnyProblem opened(const AnyProblem& closed);

// Generates data with infinities and NaNs, and poisons the outputs.
CheckResult check_case(Runtime& runtime, const Driver& driver, const Case& c, const CheckOptions& options);
// The same for a closed problem, instead of the case's text.
CheckResult check_problem_case(Runtime& runtime, const Driver& driver, const AnyProblem& problem, const Case& c,
                               const CheckOptions& options);

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_CHECK_H_
