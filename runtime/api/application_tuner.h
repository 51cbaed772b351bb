// The modes in which an application tunes, Tuning::on_prepare and Tuning::background: when prepare asks for a config,
// and how it uses the answer. The application's Tuner (quern/tuner.h) does the measuring.
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

// The program that runs an application's candidates; empty if it cannot be run.
std::string find_worker(const Options& options, const Environment& environment);

// Called only for problems without a record for the device. Thread-safe; throws nothing: failures are logged, and
// prepare continues without a tuned config.
class ApplicationTuner {
 public:
  virtual ~ApplicationTuner() = default;
  // Called before the plan is made, in the thread of prepare, whose context is the device's.
  virtual std::optional<TunedConfig> before_plan(const Family& family, const void* problem, const Device& device) = 0;
  // Called when the plan is made.
  virtual void after_plan(const std::shared_ptr<const PlanState>& plan, const Context& context) = 0;
};

// Makes the one for the mode in `state.options`; null if it is neither of the two modes, or if no Tuner was given,
// which is a warning. `state` must outlive it.
std::unique_ptr<ApplicationTuner> make_application_tuner(RuntimeState& state);

}  // namespace quern

#endif  // QUERN_API_APPLICATION_TUNER_H_
