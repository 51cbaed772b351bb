// A sweep: searches one problem's space on one or more devices of a kind, compares the finalists in pairs, and chooses
// a winner. Each measurement is written to its file at once.
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
  const Step* step = nullptr;  // whose space is searched, with the others at their defaults; null: the family's first
  std::string strategy;        // "": the default one
  std::uint64_t seed = 1;
  SweepBudget budget;
  bool stop_on_evidence = true;
  Regime regime = Regime::cold;
  std::string incumbent;             // config text of an earlier sweep's winner; "": none
  std::vector<std::string> related;  // winners for similar problems; measured early
  std::string path;                  // of the sweep's file; "": none. An existing one is resumed
  bool may_start_over = false;       // reset an existing file that is another sweep's, or is complete
  std::string command;               // as typed, for the file
  std::int64_t memory_bytes = 0;     // of each device; 0: half of what is free

  // Where candidates run: device names, and workers. Without a worker program they run in this process.
  std::vector<std::string> devices = {"cuda:0"};
  WorkerSettings worker;  // its `stop` stops the sweep: measurements are kept, there is no result
  int jobs = 1;           // parallel compiles
  Throttle throttle;
};

// Progress of a sweep, for people.
struct SweepProgress {
  int measured = 0;
  int points = 0;
  double best_us = 0;  // 0: no time yet
  std::string best;
  double seconds = 0;
  int known = 0;  // from an earlier run of the same sweep
};

// Throws Error: (bad_input) for an open problem, a space without a legal point, an unknown strategy, or a file of
// another sweep; (no_device), (no_compiler); (unsupported) where the default config itself is wrong. Measurements up to
// then are in the file.
Journal sweep(Runtime& runtime, const AnyProblem& problem, const SweepSettings& settings,
              const std::function<void(const SweepProgress&)>& progress);

}  // namespace quern

#endif  // QUERN_TUNER_SWEEP_SWEEP_H_
