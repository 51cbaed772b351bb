// Conversion between records and sweeps: the start points from records, and the record of a finished sweep.
#ifndef QUERN_TUNER_SWEEP_SWEEP_RECORDS_H_
#define QUERN_TUNER_SWEEP_SWEEP_RECORDS_H_

#include <string>
#include <vector>

#include "quern/runtime.h"
#include "records/record.h"
#include "tuner/journal/journal.h"
#include "tuner/worker/worker_pool.h"

namespace quern {

// Config texts, as in SweepSettings.
struct KnownConfigs {
  std::string incumbent;             // of the exact record for this problem and device; "": none
  std::vector<std::string> related;  // of the nearest records, nearest first
};
KnownConfigs known_configs(Runtime& runtime, const AnyProblem& problem, const Step& step, const DevicePlace& place);

// The trial of a config; null if it was not measured.
const SweepTrial* trial_of(const Journal& journal, const std::string& config);

// For a sweep without a winner: why, and what to do. `path`: of its file; "" if none is kept.
std::string no_winner_text(const Journal& journal, const std::string& path);

// Of a sweep of this step with a winner. `seed` is the search's.
Record record_of(const Step& step, const Journal& journal, std::uint64_t seed);

// The path of a sweep's file: in the folder "sweeps" next to the Runtime's own file of records; "" where there is none.
// `identity` is everything that decides what is measured.
std::string sweep_path(Runtime& runtime, const AnyProblem& problem, const std::string& identity);

}  // namespace quern

#endif  // QUERN_TUNER_SWEEP_SWEEP_RECORDS_H_
