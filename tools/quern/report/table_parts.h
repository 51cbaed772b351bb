// Cells and tables. Texts are escaped.
#ifndef QUERN_TOOLS_REPORT_TABLE_PARTS_H_
#define QUERN_TOOLS_REPORT_TABLE_PARTS_H_

#include <string>
#include <string_view>

#include "report/sweep_view.h"

namespace quern::tool::report {

std::string cell(std::string_view style, std::string_view text);
std::string number_cell(std::string_view text);
std::string head_cell(std::string_view style, std::string_view name, std::string_view unit = "");
// In a box of its own: a wide one scrolls there, not the page. `head` and `rows` are HTML.
std::string table(const std::string& head, const std::string& rows);

// The value of an axis that a config has; a dash for none, and for no config (an index below 0).
std::string value_text(const SweepView& view, int index, std::size_t axis);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_TABLE_PARTS_H_
