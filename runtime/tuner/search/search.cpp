#include "tuner/search/search.h"

#include "base/text.h"
#include "tuner/search/strategies.h"

namespace quern {
namespace {

constexpr StrategyRow kStrategies[] = {
    {"ils", "A random sample, then descents to local optima, each from a kick to the best so far", search_ils},
    {"random", "Points in random order", search_random},
    {"exhaustive", "Every point in canonical order", search_exhaustive},
};

}  // namespace

std::span<const StrategyRow> strategies() { return kStrategies; }

const StrategyRow& find_strategy(std::string_view name) {
  std::vector<std::string> names;
  for (const StrategyRow& row : kStrategies) {
    if (name == row.name) return row;
    names.emplace_back(row.name);
  }
  throw Error(Code::bad_input, Stage::tool,
              cat("there is no strategy named \"", name, "\"; there are ", join(names, ", ")));
}

}  // namespace quern
