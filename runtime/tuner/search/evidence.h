// When to stop a search: on evidence that more measuring would not pay, not on a fixed count.
#ifndef QUERN_TUNER_SEARCH_EVIDENCE_H_
#define QUERN_TUNER_SEARCH_EVIDENCE_H_

#include <limits>

#include "tuner/search/search.h"

namespace quern {

// The evidence is how long the best has stood: a search that goes on improving does so at shares of its length so far
// that shrink slowly, so the patience is a floor and a multiple of what it took to reach the best. Improvements too
// small to be told from noise do not count. One thread.
class Evidence {
 public:
  void add(const Trial& trial);
  bool enough() const;

 private:
  int trials_ = 0;
  int last_gain_ = 0;  // the trial that last improved the best by more than the noise
  double best_us_ = std::numeric_limits<double>::infinity();
};

}  // namespace quern

#endif  // QUERN_TUNER_SEARCH_EVIDENCE_H_
