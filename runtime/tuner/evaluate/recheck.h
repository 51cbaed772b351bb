// Rechecks a record: whether its config still passes, and whether a known config is faster now.
#ifndef QUERN_TUNER_EVALUATE_RECHECK_H_
#define QUERN_TUNER_EVALUATE_RECHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "records/record.h"
#include "tuner/evaluate/evaluator.h"
#include "tuner/space/family_space.h"

namespace quern {

// What compiles and loads images in this process. "": not known.
struct Toolchain {
  std::string driver;    // as from driver_text
  std::string compiler;  // its identity
};

// In what a record was made otherwise than it would be today, a few words each. No such record is wrong.
std::vector<std::string> differences(const Record& record, const Step& step, const Toolchain& now);

// The configs of a record as points of its problem's space.
struct RecheckPoints {
  int recorded = -1;
  int default_point = -1;   // the model's default
  std::vector<int> rivals;  // without duplicates and the two above
  int lost_rivals = 0;      // no longer legal
};
// Parameters that a record does not set are as in the default, as in look-up. Throws Error (bad_input) where the
// recorded config is no longer legal, with the constraint.
RecheckPoints points_of(const Record& record, const FamilySpace& space, int default_point);

// Differences are fractions.
struct Rechecked {
  SweepTrial recorded;             // check and time
  double default_us = 0;           // 0: the default did not pass
  std::vector<SweepTrial> failed;  // default and rivals that failed
  // How much slower the recorded config is than the best of the others; 0 where it is the best. nullopt where it did
  // not pass.
  std::optional<Interval> regret;
  std::string faster;  // the config that a sweep would choose instead; "": none
};

// Evaluates all, then runs a final comparison of those that passed, with the recorded config as the incumbent. Throws
// Error for what is not a config's fault.
Rechecked recheck(Evaluator& evaluator, const FamilySpace& space, const RecheckPoints& points);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_RECHECK_H_
