// What the report shows of a sweep, worked out of its file.
#ifndef QUERN_TOOLS_REPORT_SWEEP_VIEW_H_
#define QUERN_TOOLS_REPORT_SWEEP_VIEW_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuner/journal/journal.h"

namespace quern::tool::report {

// A config with a time.
struct Timed {
  const SweepTrial* trial = nullptr;
  int evaluation = 0;       // from 1, failed ones counted
  std::vector<int> values;  // for each axis the index of its value; -1: the axis does not have it
};

// How one parameter goes with the time.
struct Effect {
  int axis = 0;
  std::vector<std::vector<double>> times;  // for each value, ascending, in microseconds
  double share = 0;  // of the variance of the logarithm of the time: between the values' means, of all; 0 to 1
};

// Valid as long as the journal.
struct SweepView {
  const Journal* journal = nullptr;
  std::vector<Timed> timed;               // in file order; of a config that comes twice the later line
  std::vector<int> by_time;               // indices into `timed`, best first
  std::vector<int> shown;                 // thinned out, for charts: in file order, the best all there
  std::vector<const SweepTrial*> failed;  // in file order
  std::vector<int> failed_evaluations;    // their numbers
  std::vector<Effect> effects;            // the greatest share first
  int evaluations = 0;                    // lines of configs
  int best = -1;                          // indices into `timed`; -1: none
  int winner = -1;                        // the result's, else -1
  int standard = -1;                      // the default config

  const SweepHead& head() const { return journal->head; }
  const Timed& at(int index) const { return timed[static_cast<std::size_t>(index)]; }
  double us(int index) const { return at(index).trial->us; }
  // The winner, or the best so far of a sweep without one; -1: none.
  int leader() const { return winner >= 0 ? winner : best; }
  // Its time: the paired one of the result where there is one; 0: none.
  double leader_us() const;
  double default_us() const;             // likewise
  double copy_percent(double us) const;  // 0 where the copy or the time is not known
};

// `most`: how many points a chart may have.
SweepView view_of(const Journal& journal, int most);

// What tells a config from the default, which is what a person would type; "default" for that. Cut where it is long.
std::string short_name(const SweepView& view, const std::string& config);

// Linear between the neighbours; `sorted` is ascending and not empty.
double quantile(const std::vector<double>& sorted, double part);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_SWEEP_VIEW_H_
