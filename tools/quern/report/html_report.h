// The report of tuning sweeps: one HTML file that needs nothing else, neither network nor fonts nor scripts.
#ifndef QUERN_TOOLS_REPORT_HTML_REPORT_H_
#define QUERN_TOOLS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "tuner/journal/journal.h"

namespace quern::tool {

// All texts of the journals are escaped. Sweeps that were interrupted, and those without any config that passed, are
// shown as far as they go. What is drawn is thinned out, so that it stays below some 3 MB for a few sweeps of any
// length; tables, counts and distributions are of all configs. So is the CSV that can be saved from the page
// (report/csv.h), which takes some 30 bytes a config.
std::string html_report(const std::vector<Journal>& journals);
// The same of two sweeps, with a part before them that sets them side by side. Throws Error (bad_input) unless they are
// two of one family.
std::string html_comparison(const std::vector<Journal>& two);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_REPORT_HTML_REPORT_H_
