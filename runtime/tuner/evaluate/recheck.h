// A record looked at again: whether what it chose still passes, and whether anything that it knew is faster by now.
#ifndef QUERN_TUNER_EVALUATE_RECHECK_H_
#define QUERN_TUNER_EVALUATE_RECHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "records/record.h"
#include "tuner/evaluate/evaluator.h"
#include "tuner/space/family_space.h"

namespace quern {

// What compiles and loads images here and now. "": not known.
struct Toolchain {
  std::string driver;    // as driver_text gives it
  std::string compiler;  // the identity
};

// In what a record was made otherwise than it would be today, a few words each. No such record is wrong.
std::vector<std::string> differences(const Record& record, const Family& family, const Toolchain& now);

// A record's configs as points of its problem's space.
struct RecheckPoints {
  int recorded = -1;
  int usual = -1;           // the model's default
  std::vector<int> rivals;  // each once, without the two above
  int lost_rivals = 0;      // that are not legal any more
};
// What a record does not say of a config is as in the default, as in look-up. Throws Error (bad_input) where the
// recorded config is not legal any more, with the constraint.
RecheckPoints points_of(const Record& record, const FamilySpace& space, int usual);

// Differences are fractions.
struct Rechecked {
  SweepTrial recorded;             // by the check and by its time
  double default_us = 0;           // 0: the default did not pass
  std::vector<SweepTrial> failed;  // of the default and the rivals
  // How much slower the recorded config is than the best of the others: 0 where it is the best itself. Nothing where it
  // did not pass.
  std::optional<Interval> regret;
  std::string faster;  // the config that a sweep would put in its place; "": none
};

// Evaluates all, and holds a final comparison among those that passed, in which the recorded config is the incumbent.
// Throws Error for what is no config's fault.
Rechecked recheck(Evaluator& evaluator, const FamilySpace& space, const RecheckPoints& points);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_RECHECK_H_
