// A sweep's data as the report shows it, computed from its file.
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
  int evaluation = 0;       // from 1, counting failed ones
  std::vector<int> values;  // for each axis the index of its value; -1: not a value of the axis
};

// The effect of one parameter on the time.
struct Effect {
  int axis = 0;
  std::vector<std::vector<double>> times;  // for each value, ascending, in microseconds
  double share = 0;                        // of the variance of log time that is between the values' means; 0 to 1
};

// Valid as long as the journal.
struct SweepView {
  const Journal* journal = nullptr;
  std::vector<Timed> timed;               // in file order; for a config that occurs twice, the later line
  std::vector<int> by_time;               // indices into `timed`, best first
  std::vector<int> shown;                 // thinned out for charts, in file order, with all of the best
  std::vector<const SweepTrial*> failed;  // in file order
  std::vector<int> failed_evaluations;    // their numbers
  std::vector<Effect> effects;            // largest share first
  int evaluations = 0;                    // lines of configs
  int best = -1;                          // index into `timed`; -1: none
  int winner = -1;                        // the result's, else -1
  int standard = -1;                      // the default config

  const SweepHead& head() const { return journal->head; }
  const Timed& at(int index) const { return timed[static_cast<std::size_t>(index)]; }
  double us(int index) const { return at(index).trial->us; }
  // The winner, or the best so far of a sweep without one; -1: none.
  int leader() const { return winner >= 0 ? winner : best; }
  // Its time: the paired one of the result if there is one; 0: none.
  double leader_us() const;
  double default_us() const;             // the same for the default
  double copy_percent(double us) const;  // 0 if the copy or the time is not known
};

// `most`: the most points that a chart may have.
SweepView view_of(const Journal& journal, int most);

// The settings in which a config differs from the default, as a person would type them; "default" if there are none.
// Truncated if it is long.
std::string short_name(const SweepView& view, const std::string& config);

// Linear interpolation between neighbours; `sorted` is ascending and not empty.
double quantile(const std::vector<double>& sorted, double part);

// The value of an axis in a config; a dash if it has none, and for no config (an index below 0).
std::string value_text(const SweepView& view, int index, std::size_t axis);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_SWEEP_VIEW_H_
