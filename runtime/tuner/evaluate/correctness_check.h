// The check that every candidate must pass before it is timed: its results are right, and it writes nothing else.
//
// A candidate runs on the tuner's data, never on a caller's: on the problem itself, and on a smaller one with odd
// launch extents and with infinities, NaNs and denormals among its inputs. Some candidates are not legal for odd
// extents, as a vector must divide them; they also run on a small problem with halved extents. Before each run the
// outputs are poisoned, each time with another byte, and 1024 guard bytes on either side of each operand hold a
// pattern. After the run all of the memory, operands and guard bands, is compared on the device, byte for byte, with
// the output of the trusted config: results are bitwise independent of the config. The trusted config itself is
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
  // Runs `trusted`, a config as in PrepareOptions ("": the default), and the reference. The device's context is current
  // here and in `check`. `problem` has no open extent. Throws Error: (driver) for too little memory, among others,
  // (unsupported) where the trusted config is itself wrong.
  CorrectnessCheck(Runtime& runtime, const Driver& driver, const AnyProblem& problem, const std::string& trusted);
  ~CorrectnessCheck();

  // nullopt if `config` passes. After a failure of kind `crash` the context is lost. Throws Error for what is not the
  // candidate's fault.
  std::optional<CheckFailure> check(const std::string& config);

  // Device memory that a check of this problem uses.
  static std::int64_t memory_bytes(const AnyProblem& problem);

 private:
  class TestProblem;
  bool takes(const TestProblem& test, const AnyPlan& plan) const;
  Target target_;
  std::vector<std::unique_ptr<TestProblem>> test_problems_;  // small ones first
};

// The problem with each launch extent odd, or smaller where its family does not take an odd one, and so small that a
// call moves some megabytes.
AnyProblem odd_problem(const AnyProblem& problem);

// Whether a driver error means that a kernel crashed and its context is lost.
bool context_lost(int driver_code);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_CORRECTNESS_CHECK_H_
