// The Tuner of an application: tunes one problem at a time in a worker process, starts from records, and writes a
// record.
#ifndef QUERN_TUNER_APPLICATION_PROBLEM_TUNER_H_
#define QUERN_TUNER_APPLICATION_PROBLEM_TUNER_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "driver/device.h"
#include "quern/runtime.h"
#include "quern/tuner.h"
#include "tuner/sweep/sweep.h"
#include "tuner/worker/throttle.h"

namespace quern {

// One thread tunes; others wait.
class ProblemTuner : public Tuner {
 public:
  std::optional<TunedConfig> tune(const TuningTask& task) override;

 private:
  std::optional<TunedConfig> tune_once(const TuningTask& task, const AnyProblem& problem, const std::string& name);
  std::optional<TunedConfig> tune_or_throw(const TuningTask& task, const AnyProblem& problem, const std::string& name);
  std::optional<TunedConfig> sweep_problem(Runtime& runtime, const AnyProblem& problem, const TuningTask& task,
                                           const Device& device);
  SweepSettings settings_for(const TuningTask& task, const Device& device) const;
  void keep(const AnyProblem& problem, const Journal& journal, const TuningTask& task);
  void warn_once(const TuningTask& task, const std::string& sentence);

  std::timed_mutex mutex_;                    // one at a time
  std::map<std::string, TunedConfig> tuned_;  // by problem, device and image of the default
  const std::shared_ptr<Rest> rest_ = std::make_shared<Rest>();
  std::mutex warning_;
  std::set<std::string> warned_;
};

}  // namespace quern

#endif  // QUERN_TUNER_APPLICATION_PROBLEM_TUNER_H_
