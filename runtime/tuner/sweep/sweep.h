// A sweep: one problem's space searched on one or more devices of a kind, its finalists compared in pairs, and a winner
// chosen. Everything measured is in its file as soon as it is known.
#ifndef QUERN_TUNER_SWEEP_SWEEP_H_
#define QUERN_TUNER_SWEEP_SWEEP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quern/runtime.h"
#include "tuner/journal/journal.h"
#include "tuner/worker/live_backend.h"
#include "tuner/worker/throttle.h"

namespace quern {

struct SweepSettings {
  std::string strategy;  // "": the default one
  std::uint64_t seed = 1;
  SweepBudget budget;
  bool stop_on_evidence = true;
  Regime regime = Regime::cold;
  std::string incumbent;             // the winner of an earlier sweep, a config text; "": there is none
  std::vector<std::string> related;  // what won in problems like this one; measured early
  std::string path;                  // of the sweep's file; "": there is none. One that is there is gone on with
  bool may_start_over = false;       // what is there is dropped where it is another sweep's, or has all it may have
  std::string command;               // as typed, for the file
  std::int64_t memory_bytes = 0;     // of each device; 0: half of what is free

  // Where candidates run: device names, and workers. Without a program they run in this process.
  std::vector<std::string> devices = {"cuda:0"};
  WorkerSettings worker;  // its `stop` stops the sweep: what was measured is kept, and there is no result
  int jobs = 1;           // compiles at a time
  Throttle throttle;
};

// How far it is, for people.
struct SweepProgress {
  int measured = 0;
  int points = 0;
  double best_us = 0;  // 0: none yet
  std::string best;
  double seconds = 0;
  int known = 0;  // from an earlier run of the same sweep
};

// Throws Error: (bad_input) for an open problem, a space without a legal point, an unknown strategy, or a file of
// another sweep; (no_device), (no_compiler); (unsupported) where the default config itself is wrong. What was measured
// until then is in the file.
Journal sweep(Runtime& runtime, const AnyProblem& problem, const SweepSettings& settings,
              const std::function<void(const SweepProgress&)>& progress);

}  // namespace quern

#endif  // QUERN_TUNER_SWEEP_SWEEP_H_
