// A sweep's part of the report.
#ifndef QUERN_TOOLS_REPORT_SWEEP_SECTION_H_
#define QUERN_TOOLS_REPORT_SWEEP_SECTION_H_

#include <string>
#include <vector>

#include "report/sweep_view.h"

namespace quern::tool::report {

// <section id="sweep-NUMBER">.
std::string sweep_section(const SweepView& view, int number);
// How the sweep ended, in a few words for the overview.
std::string outcome(const SweepView& view);
// How much faster than the default the winner is, in percent: as the result says, else of the best time so far. Nothing
// without both times.
std::string gain_text(const SweepView& view);

// Below, what sections are made of.
std::string environment_facts(const SweepView& view);
std::string failures_part(const SweepView& view);
std::string best_table(const SweepView& view);
// The configs that stand for its rows: indices into `timed`.
std::vector<int> best_rows(const SweepView& view);
std::string config_table(const SweepView& view);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_SWEEP_SECTION_H_
