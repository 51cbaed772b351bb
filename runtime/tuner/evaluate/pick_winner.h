// Which of the best configs wins. Times that differ by less than they scatter say nothing, so among equals the one that
// was there before stays: two sweeps of one problem should not give two winners.
#ifndef QUERN_TUNER_EVALUATE_PICK_WINNER_H_
#define QUERN_TUNER_EVALUATE_PICK_WINNER_H_

#include <string>
#include <vector>

#include "testbench/estimate.h"

namespace quern {

// One that was measured in pairs with the first of its list; all differences are fractions of that one's time.
struct Finalist {
  int point = 0;        // its number in the space, which is the canonical order
  Interval difference;  // negative: faster than the first; 0, 0, 0 for the first itself
  bool is_default = false;
  bool is_incumbent = false;  // the winner of an earlier sweep
};

struct Decision {
  std::size_t winner = 0;           // its place in the list
  const char* why = "";             // "incumbent", "default", "first in order" or "faster"
  double band = 0;                  // what equals may differ by
  std::vector<std::size_t> rivals;  // others within the band of the best
};

// Never below: what paired comparisons on one device repeat to.
inline constexpr double kLeastBand = 0.005;

// The best is the one with the smallest middle. Whoever is within the band of it is its equal; of these the incumbent
// wins, else the default, else the first in canonical order. REQUIRES: finalists is not empty.
Decision pick_winner(const std::vector<Finalist>& finalists);

// Whether `challenger` beats the incumbent: by more than the band in two comparisons of them, each by itself.
bool beats_twice(const Interval& first, const Interval& second, double band);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_PICK_WINNER_H_
