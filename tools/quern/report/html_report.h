// The report of tuning sweeps: one HTML file that needs nothing else, neither network nor fonts nor scripts.
#ifndef QUERN_TOOLS_REPORT_HTML_REPORT_H_
#define QUERN_TOOLS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "tuner/journal.h"

namespace quern::tool {

// All texts of the journals are escaped. Sweeps that were interrupted, and those without any config that passed, are
// shown as far as they go. What is drawn is thinned out, so that the size stays below some 3 MB for a few sweeps of any
// length; tables, counts and distributions are of all configs.
std::string html_report(const std::vector<Journal>& journals);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_REPORT_HTML_REPORT_H_
