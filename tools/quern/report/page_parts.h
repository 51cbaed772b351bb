// The style and the script of every report, both inline, so that a report is one file, and the elements that the script
// reads.
#ifndef QUERN_TOOLS_REPORT_PAGE_PARTS_H_
#define QUERN_TOOLS_REPORT_PAGE_PARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuner/journal/journal.h"

namespace quern::tool::report {

extern const std::string_view kStyle;
// Shows the config under the pointer, marks it in all charts of its sweep, and filters by parameter values. A page
// works without it.
extern const std::string_view kScript;

struct Drawn {
  int index;                // data-i of its marks
  std::string us;           // as displayed
  std::vector<int> values;  // for each axis the index of its value; -1: none
};

// A script element with {axes: [{name, values}], configs: {index: [us, value...]}}.
std::string drawn_data(const std::vector<SweepAxis>& axes, const std::vector<Drawn>& configs);

// <a download>: saves `text` as `name`. The link holds it gzipped; the page's script unpacks it. Without the script a
// click saves `name`.gz.
std::string download_link(std::string_view label, std::string_view name, std::string_view text);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_PAGE_PARTS_H_
