#include "tuner/search/search.h"

#include <numeric>

#include "base/text.h"
#include "tuner/search/search_history.h"

namespace quern {
namespace {

void search_random(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend) {
  SearchHistory history(space, backend);
  Random random(seed);
  std::vector<int> points(static_cast<std::size_t>(space.size()));
  std::iota(points.begin(), points.end(), 0);
  random.shuffle(points);
  if (history.all_of(first)) history.all_of(points);
}

void search_exhaustive(const Space& space, const std::vector<int>& first, std::uint64_t /*seed*/, Backend& backend) {
  SearchHistory history(space, backend);
  std::vector<int> points(static_cast<std::size_t>(space.size()));
  std::iota(points.begin(), points.end(), 0);
  if (history.all_of(first)) history.all_of(points);
}

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
              cat("unknown strategy \"", name, "\"; expected one of ", join(names, ", ")));
}

}  // namespace quern
