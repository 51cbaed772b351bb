// Between records and sweeps: what records give a sweep to begin with, and the record that a sweep leaves.
#ifndef QUERN_TUNER_SWEEP_SWEEP_RECORDS_H_
#define QUERN_TUNER_SWEEP_SWEEP_RECORDS_H_

#include <string>
#include <vector>

#include "quern/runtime.h"
#include "records/record.h"
#include "tuner/journal/journal.h"
#include "tuner/worker/worker_pool.h"

namespace quern {

// Config texts, as SweepSettings has them.
struct KnownConfigs {
  std::string incumbent;             // of the record for this very problem and device; "": there is none
  std::vector<std::string> related;  // of the nearest records, nearest first
};
KnownConfigs known_configs(Runtime& runtime, const AnyProblem& problem, const DevicePlace& place);

// What a sweep measured of a config; null if it did not.
const SweepTrial* trial_of(const Journal& journal, const std::string& config);

// Of a sweep without a winner: why, and what to do. `path`: of its file; "" where none is kept.
std::string no_winner_text(const Journal& journal, const std::string& path);

// Of a sweep with a winner. `seed` is the search's.
Record record_of(const AnyProblem& problem, const Journal& journal, std::uint64_t seed);

// Where a sweep of this identity (whatever decides what is measured) is written: a file in the folder "sweeps" beside
// the Runtime's own file of records; "" where there is none.
std::string sweep_path(Runtime& runtime, const AnyProblem& problem, const std::string& identity);

}  // namespace quern

#endif  // QUERN_TUNER_SWEEP_SWEEP_RECORDS_H_
