// What every candidate must pass before it is timed: it is right, and it touched nothing else.
//
// A candidate runs on data of the tuner's own, never on a caller's: on the problem itself, and on a smaller one whose
// launch extents are odd, with infinities, NaNs and denormals among its numbers. Where odd extents leave some
// candidates out, as a vector that must divide them does, these run on a small one besides whose extents are halves.
// Before each run the outputs are poisoned, each time with another byte, and 1024 bytes on either side of each operand
// hold a pattern. After it all of the memory, operands and bands alike, is compared with what the trusted config left,
// byte for byte and on the device: no config changes a result bit (rule 10 of the design). The trusted config itself is
// compared with the plain reference, within the family's tolerance.
#ifndef QUERN_TUNER_EVALUATE_CORRECTNESS_CHECK_H_
#define QUERN_TUNER_EVALUATE_CORRECTNESS_CHECK_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "driver/stream.h"
#include "quern/runtime.h"
#include "testbench/operands.h"
#include "tuner/journal/journal.h"

namespace quern {

struct CheckFailure {
  FailureKind kind = FailureKind::wrong;
  std::string why;
};

class CorrectnessCheck {
 public:
  // Runs `trusted`, a config as PrepareOptions has it ("": the default's), and the reference. The device's context is
  // current here and in `check`. `problem` has no open extent. Throws Error: (driver) where there is too little memory
  // among others, (unsupported) where the trusted config is wrong itself.
  CorrectnessCheck(Runtime& runtime, const Driver& driver, const AnyProblem& problem, const std::string& trusted);
  ~CorrectnessCheck();

  // Nothing if `config` passes. After an failure of kind `crash` the context is lost. Throws Error for what is not
  // the candidate's fault.
  std::optional<CheckFailure> check(const std::string& config);

  // Device memory that a check for this problem takes.
  static std::int64_t memory_bytes(const AnyProblem& problem);

 private:
  class TestProblem;
  bool takes(const TestProblem& problem_, const AnyPlan& plan) const;
  Target target_;
  std::vector<std::unique_ptr<TestProblem>> test_problems_;  // small ones first
};

// The problem with each launch extent odd, or below that where its family takes no odd one, and so small that a call
// moves some megabytes.
AnyProblem odd_problem(const AnyProblem& problem);

// Whether a driver error says that a kernel ran into something and took the context with it.
bool context_lost(int driver_code);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_CORRECTNESS_CHECK_H_
