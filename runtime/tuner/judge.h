// Judges configs of one problem on one device: right first, then how fast. In the process that calls it, so what a
// candidate breaks is broken there; `quern worker` is a judge in a process of its own.
#ifndef QUERN_TUNER_JUDGE_H_
#define QUERN_TUNER_JUDGE_H_

#include <memory>
#include <string>
#include <vector>

#include "driver/device.h"
#include "quern/runtime.h"
#include "tuner/device_case.h"
#include "tuner/examiner.h"
#include "tuner/gate.h"

namespace quern {

// Not thread-safe; the device's context is current in each call.
class Judge : public Examiner {
 public:
  // Throws Error: (bad_input) for a problem with an open extent, (driver) where memory does not suffice, (unsupported)
  // where the trusted config is wrong.
  Judge(Runtime& runtime, std::shared_ptr<const Driver> driver, const Device& device, const AnyProblem& problem,
        const ExaminerSettings& settings);
  ~Judge() override;

  DeviceFacts facts() override;
  // After a failure of kind `crash` nothing else works in this process.
  SweepTrial examine(const std::string& config, double best_us) override;
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override;

 private:
  AnyPlan prepare(const std::string& config);
  bool too_much_local_memory(const AnyPlan& plan, std::string* why) const;
  void time(const AnyPlan& plan, double best_us, SweepTrial& trial);

  Runtime& runtime_;
  const std::shared_ptr<const Driver> driver_;
  const Device device_;
  const AnyProblem problem_;
  const ExaminerSettings settings_;
  HostOperands host_;
  DeviceCase data_;
  Gate gate_;
  double copy_us_ = 0;  // measured when it is asked for
};

// What a judge of this problem takes of the device's memory.
std::int64_t judge_bytes(const AnyProblem& problem, const Device& device, Regime regime);

}  // namespace quern

#endif  // QUERN_TUNER_JUDGE_H_
