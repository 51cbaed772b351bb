// Evaluates configs of one problem on one device: first the correctness check, then the time. It works in the calling
// process, so a candidate that crashes breaks that process; `quern worker` is an evaluator in a separate process.
#ifndef QUERN_TUNER_EVALUATE_DEVICE_EVALUATOR_H_
#define QUERN_TUNER_EVALUATE_DEVICE_EVALUATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "driver/device.h"
#include "quern/runtime.h"
#include "testbench/device_case.h"
#include "tuner/evaluate/correctness_check.h"
#include "tuner/evaluate/evaluator.h"

namespace quern {

// Not thread-safe. The device's context is current in each call.
class DeviceEvaluator : public Evaluator {
 public:
  // Throws Error: (bad_input) for a problem with an open extent, (driver) for too little memory, (unsupported) where
  // the trusted config is wrong.
  DeviceEvaluator(Runtime& runtime, std::shared_ptr<const Driver> driver, const Device& device,
                  const AnyProblem& problem, const EvaluatorSettings& settings);
  ~DeviceEvaluator() override;

  DeviceFacts facts() override;
  // After a failure of kind `crash` the context of this process is lost.
  SweepTrial evaluate(const std::string& config, double best_us) override;
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override;

 private:
  AnyPlan prepare(const std::string& config);
  bool too_much_local_memory(const Resources& resources, std::string* why) const;
  void time(const AnyPlan& plan, double best_us, SweepTrial& trial);

  Runtime& runtime_;
  const std::shared_ptr<const Driver> driver_;
  const Device device_;
  const AnyProblem problem_;
  const EvaluatorSettings settings_;
  HostOperands host_;
  DeviceCase data_;
  CorrectnessCheck check_;
  double copy_us_ = 0;  // measured on first use
};

// Device memory that an evaluator of this problem uses.
std::int64_t evaluator_bytes(const AnyProblem& problem, const Device& device, Regime regime);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_DEVICE_EVALUATOR_H_
