// What is the same in every report: the style and the script, both inline, so that a report is one file.
#ifndef QUERN_TOOLS_REPORT_PAGE_PARTS_H_
#define QUERN_TOOLS_REPORT_PAGE_PARTS_H_

#include <string_view>

namespace quern::tool::report {

extern const std::string_view kStyle;
// Names the config under the pointer, marks it in all charts of its sweep, and filters by parameter values. Without it
// the page only lacks that.
extern const std::string_view kScript;

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_PAGE_PARTS_H_
