// What a Runtime asks for in the modes in which an application tunes, Tuning::on_prepare and Tuning::background. An
// interface, because the tuner is built on Runtimes and nothing here may include it.
#ifndef QUERN_API_APPLICATION_TUNER_H_
#define QUERN_API_APPLICATION_TUNER_H_

#include <memory>
#include <optional>
#include <string>

#include "driver/device.h"
#include "plan/plan_state.h"

namespace quern {

class RuntimeState;

// A config that was measured for one problem on one device.
struct TunedConfig {
  std::string config;  // as PrepareOptions has it
  std::string from;    // for plan.why(): "measured, 40 configs in 3.1 s: 2.0 % faster than the default"
};

// Asked only for problems of which there is no record on the device. Thread-safe; throws nothing: what goes wrong is
// logged, and then prepare does without.
class ApplicationTuner {
 public:
  virtual ~ApplicationTuner() = default;
  // Before the plan is made, in the thread of prepare, whose context is the device's.
  virtual std::optional<TunedConfig> before_plan(const Family& family, const void* problem, const Device& device) = 0;
  // When it is made.
  virtual void after_plan(const std::shared_ptr<const PlanState>& plan, const Context& context) = 0;
};

// For the mode that `state.options` names; null where it is neither of the two. `state` must outlive it. The tuner
// defines it.
std::unique_ptr<ApplicationTuner> make_application_tuner(RuntimeState& state);

}  // namespace quern

#endif  // QUERN_API_APPLICATION_TUNER_H_
