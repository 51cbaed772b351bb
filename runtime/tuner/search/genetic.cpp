// A genetic algorithm (Holland: Adaptation in natural and artificial systems, 1975): the faster of two random members
// of the population is a parent, each place comes from one of two parents, and now and then one is changed by chance.
#include <algorithm>

#include "tuner/search/search_history.h"
#include "tuner/search/strategies.h"

namespace quern {
namespace {

constexpr int kPopulation = 20;
constexpr double kMutations = 1.2;  // places changed in a child, on average
constexpr int kTries = 50;

class Genetic {
 public:
  Genetic(const Space& space, std::uint64_t seed, Backend& backend) : history_(space, backend), random_(seed) {}

  void run(const std::vector<int>& first) {
    history_.all_of(first);
    if (!history_.over()) history_.all_of(history_.unknowns(random_, kPopulation));
    while (!history_.over()) {
      // The fastest of all ages are the population: who was born later does not matter to a kernel.
      population_ = history_.fastest(kPopulation);
      history_.all_of(children());
    }
  }

 private:
  std::vector<int> children() {
    std::vector<int> points;
    for (int i = 0; i < kPopulation; ++i) points.push_back(child());
    return points;
  }

  int child() {
    for (int i = 0; i < kTries; ++i) {
      const int point = history_.space().find(mutated(crossed(parent(), parent())));
      if (point >= 0 && !history_.knows(point)) return point;
    }
    return history_.unknown(random_);
  }

  const std::vector<int>& parent() {
    const int a = random_.below(population_.size());
    const int b = random_.below(population_.size());
    return history_.space().indices(population_[static_cast<std::size_t>(std::min(a, b))]);
  }

  std::vector<int> crossed(const std::vector<int>& mother, const std::vector<int>& father) {
    std::vector<int> indices = mother;
    for (std::size_t a = 0; a < indices.size(); ++a) {
      if (random_.below(2) == 0) indices[a] = father[a];
    }
    return indices;
  }

  std::vector<int> mutated(std::vector<int> indices) {
    const double chance = kMutations / static_cast<double>(indices.size());
    for (std::size_t a = 0; a < indices.size(); ++a) {
      if (random_.unit() < chance) indices[a] = random_.below(history_.space().axes()[a].values.size());
    }
    return indices;
  }

  SearchHistory history_;
  Random random_;
  std::vector<int> population_;  // fastest first
};

}  // namespace

void search_genetic(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend) {
  Genetic(space, seed, backend).run(first);
}

}  // namespace quern
