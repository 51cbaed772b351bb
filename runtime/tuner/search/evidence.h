// Stop rule of a search: stop on evidence that more measuring would not pay, not after a fixed count.
#ifndef QUERN_TUNER_SEARCH_EVIDENCE_H_
#define QUERN_TUNER_SEARCH_EVIDENCE_H_

#include <limits>

#include "tuner/search/search.h"

namespace quern {

// The evidence is the number of trials since the best last improved. Improvements come at shares of the search's length
// that shrink slowly, so the patience is a minimum plus a multiple of the trials that it took to reach the best.
// Improvements within the noise do not count. One thread.
class Evidence {
 public:
  void add(const Trial& trial);
  bool enough() const;

 private:
  int trials_ = 0;
  int last_gain_ = 0;  // the last trial that improved the best by more than the noise
  double best_us_ = std::numeric_limits<double>::infinity();
};

}  // namespace quern

#endif  // QUERN_TUNER_SEARCH_EVIDENCE_H_
