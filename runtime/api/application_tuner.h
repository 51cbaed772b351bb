// The modes in which an application tunes, Tuning::on_prepare and Tuning::background: what prepare asks, when, and what
// becomes of the answer. What measures is the application's Tuner (quern/tuner.h).
#ifndef QUERN_API_APPLICATION_TUNER_H_
#define QUERN_API_APPLICATION_TUNER_H_

#include <memory>
#include <optional>
#include <string>

#include "base/environment.h"
#include "driver/device.h"
#include "plan/plan_state.h"
#include "quern/tuner.h"

namespace quern {

class RuntimeState;

// The program that an application's candidates would run in; empty where it cannot be run.
std::string find_worker(const Options& options, const Environment& environment);

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

// For the mode that `state.options` names; null where it is neither of the two, and with a warning where no Tuner was
// given. `state` must outlive it.
std::unique_ptr<ApplicationTuner> make_application_tuner(RuntimeState& state);

}  // namespace quern

#endif  // QUERN_API_APPLICATION_TUNER_H_
