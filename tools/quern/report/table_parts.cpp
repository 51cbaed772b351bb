#include "report/table_parts.h"

#include "base/text.h"
#include "report/html.h"

namespace quern::tool::report {

std::string cell(std::string_view style, std::string_view text) {
  return text_element("td", style.empty() ? "" : cat("class=\"", style, "\""), text);
}

std::string number_cell(std::string_view text) { return cell("n", text); }

std::string head_cell(std::string_view style, std::string_view name, std::string_view unit) {
  const std::string below = unit.empty() ? "" : cat(" ", text_element("span", "class=\"unit\"", unit));
  return element("th", cat("scope=\"col\"", style.empty() ? "" : cat(" class=\"", style, "\"")),
                 cat(escape(name), below));
}

std::string table(const std::string& head, const std::string& rows) {
  const std::string body = cat(element("thead", "", element("tr", "", head)), element("tbody", "", rows));
  return element("div", "class=\"scroll\"", element("table", "", body));
}

std::string value_text(const SweepView& view, int index, std::size_t axis) {
  const int value = index < 0 ? -1 : view.at(index).values[axis];
  return value < 0 ? std::string(kDash) : view.head().axes[axis].values[static_cast<std::size_t>(value)];
}

}  // namespace quern::tool::report
