#include "tuner/descent.h"
#include "tuner/strategies.h"

namespace quern {

void search_hill_climb(const Space& space, const std::vector<int>& first, std::uint64_t seed, Lab& lab) {
  Memory memory(space, lab);
  Random random(seed);
  const Order any_order = [&](std::vector<Neighbour>& neighbours, const Heading&) { random.shuffle(neighbours); };
  memory.all_of(first);
  for (const int start : memory.fastest(1)) descend(memory, start, any_order);
  while (!memory.over()) {
    if (const auto trial = memory.any_of(memory.unknowns(random, 8))) descend(memory, trial->point, any_order);
  }
}

}  // namespace quern
