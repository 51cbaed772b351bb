// The sections of the report: one for each sweep, and one that compares two.
#ifndef QUERN_TOOLS_REPORT_SECTIONS_H_
#define QUERN_TOOLS_REPORT_SECTIONS_H_

#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/sweep_view.h"

namespace quern::tool::report {

// <section id="sweep-NUMBER">.
std::string sweep_section(const SweepView& view, int number);
// The outcome of the sweep in a few words, for the overview.
std::string outcome(const SweepView& view);
// How much faster than the default the winner is, in percent: from the result if there is one, else from the best time
// so far. Nothing if a time is missing.
std::string gain_text(const SweepView& view);

// Parts of a section.
std::string environment_facts(const SweepView& view);
std::string failures_part(const SweepView& view);
std::string best_table(const SweepView& view);
// The configs that represent its rows: indices into `timed`.
std::vector<int> best_rows(const SweepView& view);
std::string config_table(const SweepView& view);

// ---- Comparison of two sweeps

// <section class="sweep" id="comparison">.
std::string comparison_section(const Comparison& comparison);
// Whether the second sweep's best is faster than the first's, with the confidence interval.
std::string comparison_verdict(const Comparison& comparison);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_SECTIONS_H_
