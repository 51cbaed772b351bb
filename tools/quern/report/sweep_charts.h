// The charts of a sweep, each a <figure>; "" if there is nothing to draw.
#ifndef QUERN_TOOLS_REPORT_SWEEP_CHARTS_H_
#define QUERN_TOOLS_REPORT_SWEEP_CHARTS_H_

#include <string>

#include "report/sweep_view.h"

namespace quern::tool::report {

// The part after the title is HTML.
std::string figure(std::string_view style, std::string_view title, std::string_view note, const std::string& svg);

std::string convergence_over_evaluations(const SweepView& view);
std::string convergence_over_seconds(const SweepView& view);
std::string finalists_chart(const SweepView& view);
std::string distribution_chart(const SweepView& view);
std::string registers_chart(const SweepView& view);
std::string compile_chart(const SweepView& view);
// One for each parameter with more than one value.
std::string effect_charts(const SweepView& view);
std::string parallel_chart(const SweepView& view);

// How much slower than the best a time is, in steps from 0 (best) to kShades - 1, each with its own colour.
inline constexpr int kShades = 7;
int shade_of(double us, double best);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_SWEEP_CHARTS_H_
