#include <numeric>

#include "tuner/search/search_history.h"
#include "tuner/search/strategies.h"

namespace quern {

void search_random(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend) {
  SearchHistory history(space, backend);
  Random random(seed);
  std::vector<int> points(static_cast<std::size_t>(space.size()));
  std::iota(points.begin(), points.end(), 0);
  random.shuffle(points);
  if (history.all_of(first)) history.all_of(points);
}

}  // namespace quern
