#include "report/drawn_data.h"

#include "base/text.h"
#include "report/html.h"

namespace quern::tool::report {
namespace {

std::string axis_data(const SweepAxis& axis) {
  std::vector<std::string> values;
  for (const std::string& value : axis.values) values.push_back(script_string(value));
  return cat("{\"name\":", script_string(axis.name), ",\"values\":[", join(values, ","), "]}");
}

std::string config_data(const Drawn& config) {
  std::string row = cat("\"", config.index, "\":[", script_string(config.us));
  for (const int value : config.values) row += cat(",", value);
  return row + "]";
}

}  // namespace

std::string drawn_data(const std::vector<SweepAxis>& axes, const std::vector<Drawn>& configs) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : axes) names.push_back(axis_data(axis));
  std::vector<std::string> rows;
  for (const Drawn& config : configs) rows.push_back(config_data(config));
  return element("script", "type=\"application/json\"",
                 cat("{\"axes\":[", join(names, ","), "],\"configs\":{", join(rows, ","), "}}"));
}

}  // namespace quern::tool::report
