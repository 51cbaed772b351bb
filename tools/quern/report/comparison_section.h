// The part of the report that sets two sweeps side by side.
#ifndef QUERN_TOOLS_REPORT_COMPARISON_SECTION_H_
#define QUERN_TOOLS_REPORT_COMPARISON_SECTION_H_

#include <string>

#include "report/comparison.h"

namespace quern::tool::report {

// <section class="sweep" id="comparison">.
std::string comparison_section(const Comparison& comparison);
// Whether the second sweep's best is faster than the first's, and how sure that is.
std::string comparison_verdict(const Comparison& comparison);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_COMPARISON_SECTION_H_
