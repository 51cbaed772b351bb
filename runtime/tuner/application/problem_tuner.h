// Tunes one problem at a time for an application: in workers, with what records know, and leaves a record.
#ifndef QUERN_TUNER_APPLICATION_PROBLEM_TUNER_H_
#define QUERN_TUNER_APPLICATION_PROBLEM_TUNER_H_

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "api/application_tuner.h"
#include "base/environment.h"
#include "quern/runtime.h"
#include "tuner/sweep/sweep.h"
#include "tuner/worker/throttle.h"

namespace quern {

// The program that an application's candidates would run in; empty where it cannot be run.
std::string find_worker(const Options& options, const Environment& environment);

// What one tuning may take.
struct TuningLimits {
  std::int64_t memory_bytes = 0;  // of the device
  double seconds = 0;             // of searching; 0: until there is evidence
  int jobs = 1;                   // compiles at a time
  Throttle throttle;
  std::function<bool()> stop;  // asked all the while; what was measured until then is gone on with another time
};

// Thread-safe: one tunes, others wait.
class ProblemTuner {
 public:
  // `state` must outlive it. Starts nothing yet.
  explicit ProblemTuner(RuntimeState& state);

  // Nothing, with a line in the log, where the problem cannot be tuned or `stop` came first. The winner is in the
  // Runtime's file of records then; where another process put one there meanwhile, that is it. Throws nothing.
  std::optional<TunedConfig> tune(const AnyProblem& problem, const Device& device, const TuningLimits& limits);

  // Why nothing can be tuned now, of which each reason is one warning; empty if all is there.
  std::string unusable();

 private:
  std::optional<TunedConfig> tune_or_throw(const AnyProblem& problem, const Device& device, const TuningLimits& limits);
  SweepSettings settings_for(const Device& device, const TuningLimits& limits) const;
  Runtime runtime_for_sweeps();
  // Why a worker cannot measure for this process; "": it can.
  std::string why_another(const AnyProblem& problem, const Device& device, const Journal& journal);
  bool is_unknown_to_the_worker(const Family& family) const;
  void keep(const AnyProblem& problem, const Journal& journal);
  void warn_once(const std::string& sentence);

  RuntimeState& state_;
  const std::string program_;                 // the worker; empty: there is none
  std::timed_mutex mutex_;                    // one at a time
  std::map<std::string, TunedConfig> tuned_;  // by problem and device
  std::mutex warning_;
  std::set<std::string> warned_;
};

}  // namespace quern

#endif  // QUERN_TUNER_APPLICATION_PROBLEM_TUNER_H_
