// Final comparison of the best configs: they are timed in pairs, and one is chosen. Differences within the noise band
// do not count, so among equals the incumbent stays, and it is replaced only by a config that beats it twice: two
// sweeps of one problem should give the same winner. Ends a sweep, and rechecks a record.
#ifndef QUERN_TUNER_EVALUATE_FINAL_COMPARISON_H_
#define QUERN_TUNER_EVALUATE_FINAL_COMPARISON_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "testbench/estimate.h"

namespace quern {

// A config that was timed in pairs with the first of the list. Differences are fractions of the first one's time.
struct Finalist {
  int point = 0;        // its number in the space: the canonical order
  Interval difference;  // negative: faster than the first; 0, 0, 0 for the first itself
  bool is_default = false;
  bool is_incumbent = false;  // the winner of an earlier sweep
};

struct Decision {
  std::size_t winner = 0;           // index in the list
  const char* why = "";             // "incumbent", "default", "first in order" or "faster"
  double band = 0;                  // noise band: equals differ by at most this
  std::vector<std::size_t> rivals;  // others within the band of the best
};

// Lower limit of the noise band: the repeatability of paired comparisons on one device.
inline constexpr double kLeastBand = 0.005;

// The best has the smallest middle. Finalists within the noise band of it are its equals. Of these the incumbent wins,
// else the default, else the first in canonical order. REQUIRES: finalists is not empty.
Decision pick_winner(const std::vector<Finalist>& finalists);

// Whether a challenger beats the incumbent by more than the noise band in each of two comparisons.
bool beats_twice(const Interval& first, const Interval& second, double band);

// Rounds of each comparison.
inline constexpr int kRounds = 15;

// Times the points a and b in kRounds rounds.
using ComparePoints = std::function<std::vector<Round>(int a, int b)>;

struct FinalComparison {
  std::vector<Finalist> finalists;  // in the order given, with their differences from the first
  Decision decision;
};

// REQUIRES: contenders is not empty, and all have passed the check. Throws what `compare` throws.
FinalComparison compare_finalists(std::vector<Finalist> contenders, const ComparePoints& compare);

}  // namespace quern

#endif  // QUERN_TUNER_EVALUATE_FINAL_COMPARISON_H_
