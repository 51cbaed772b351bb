// Replay: searches saved spaces with many seeds. Measures what a strategy costs to come near the best, and what the
// stop rule loses.
#ifndef QUERN_TUNER_SEARCH_REPLAY_H_
#define QUERN_TUNER_SEARCH_REPLAY_H_

#include <cstdint>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/space/saved_space.h"

namespace quern {

// With the stop rule off: evaluations, including failed ones, until the best found is within 5 % or 1 % of the space's
// best. With it on: evaluations until it stops, and how much slower the best found is than the space's best, in
// percent. Medians (p50) and 90th percentiles over the seeds, by nearest rank.
struct ReplayScore {
  double median_5 = 0;
  double p90_5 = 0;
  double median_1 = 0;
  double p90_1 = 0;
  double stop_evaluations = 0;
  double stop_regret_p50 = 0;
  double stop_regret_p90 = 0;
};

// Seeds first_seed, first_seed + 1, …, in parallel on all cores; the result does not depend on the number of cores.
// Throws Error (bad_input) unless seeds > 0.
ReplayScore replay(const SavedSpace& saved, Strategy search, int seeds, std::uint64_t first_seed);

// Geometric means of the evaluations, and arithmetic means of the regrets, which may be zero. REQUIRES: there are
// scores.
ReplayScore mean_score(const std::vector<ReplayScore>& scores);

}  // namespace quern

#endif  // QUERN_TUNER_SEARCH_REPLAY_H_
