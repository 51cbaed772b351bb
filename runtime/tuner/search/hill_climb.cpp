#include "tuner/search/descent.h"
#include "tuner/search/strategies.h"

namespace quern {

void search_hill_climb(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend) {
  SearchHistory history(space, backend);
  Random random(seed);
  const Order any_order = [&](std::vector<Neighbour>& neighbours, const Heading&) { random.shuffle(neighbours); };
  history.all_of(first);
  for (const int start : history.fastest(1)) descend(history, start, any_order);
  while (!history.over()) {
    if (const auto trial = history.any_of(history.unknowns(random, 8))) descend(history, trial->point, any_order);
  }
}

}  // namespace quern
