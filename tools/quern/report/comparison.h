// Comparison of two sweeps: the times of one against those of the other.
#ifndef QUERN_TOOLS_REPORT_COMPARISON_H_
#define QUERN_TOOLS_REPORT_COMPARISON_H_

#include <string>
#include <vector>

#include "report/sweep_view.h"

namespace quern::tool::report {

// A config that has a time in both: indices into `timed` of each.
struct Pair {
  int first = -1;
  int second = -1;
};

// How much less time the second sweep measured, in percent of the first's; positive: faster.
struct Difference {
  double percent = 0;
  // The range if each median is anywhere in its own 95 % confidence interval: more than 95 % sure. Equal to `percent`
  // for fewer than six samples.
  double low = 0;
  double high = 0;
  bool told_apart() const { return low > 0 || high < 0; }
};

// Valid as long as the views.
struct Comparison {
  const SweepView* first = nullptr;
  const SweepView* second = nullptr;
  std::vector<Pair> common;        // in the order of the first sweep's file
  double rank_agreement = 0;       // Spearman's coefficient of the common configs, -1 to 1; 0 with fewer than three
  bool ranked = false;             // there are at least three
  std::vector<std::string> notes;  // what limits the comparison: another problem, device, …

  // The common pair with a config of the first, or of the second, sweep; nullptr if the other has no time of it.
  const Pair* of_first(int index) const;
  const Pair* of_second(int index) const;
};

Comparison compare(const SweepView& first, const SweepView& second);
Difference difference(const SweepTrial& first, const SweepTrial& second);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_COMPARISON_H_
