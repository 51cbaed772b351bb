// The report of tuning sweeps: one self-contained HTML file, without network, fonts or scripts from elsewhere.
#ifndef QUERN_TOOLS_REPORT_HTML_REPORT_H_
#define QUERN_TOOLS_REPORT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "tuner/journal/journal.h"

namespace quern::tool {

// All texts of the journals are escaped. Interrupted sweeps, and sweeps in which no config passed, are shown as far as
// possible. Charts are thinned out, so that the page of a few sweeps of any length stays below some 3 MB; tables,
// counts and distributions are of all configs. So is the CSV that can be saved from the page (report/csv.h), which uses
// some 30 bytes per config.
std::string html_report(const std::vector<Journal>& journals);
// The same for two sweeps, with a section before them that compares them. Throws Error (bad_input) unless they are two
// sweeps of one family.
std::string html_comparison(const std::vector<Journal>& two);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_REPORT_HTML_REPORT_H_
