#include <numeric>

#include "tuner/search/search_history.h"
#include "tuner/search/strategies.h"

namespace quern {

void search_exhaustive(const Space& space, const std::vector<int>& first, std::uint64_t /*seed*/, Backend& backend) {
  SearchHistory history(space, backend);
  std::vector<int> points(static_cast<std::size_t>(space.size()));
  std::iota(points.begin(), points.end(), 0);
  if (history.all_of(first)) history.all_of(points);
}

}  // namespace quern
