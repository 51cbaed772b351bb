// Simulated annealing (Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, Science 1983). What a step
// loses counts as a share of the time that it starts from, so that a temperature means the same in every space.
#include <cmath>

#include "tuner/search/search_history.h"
#include "tuner/search/strategies.h"

namespace quern {
namespace {

constexpr int kSample = 10;
constexpr double kHot = 0.3;
constexpr double kCold = 0.002;
constexpr double kCooling = 0.97;

class Annealing {
 public:
  Annealing(const Space& space, std::uint64_t seed, Backend& backend) : history_(space, backend), random_(seed) {}

  void run(const std::vector<int>& first) {
    if (!history_.all_of(first) || !history_.all_of(history_.unknowns(random_, kSample))) return;
    here_ = history_.fastest(1).front();
    while (!history_.over()) {
      for (double heat = kHot; heat > kCold && !history_.over(); heat *= kCooling) step(heat);
      restart();
    }
  }

 private:
  void step(double heat) {
    std::vector<int> candidates;
    for (const Neighbour& other : history_.space().neighbours(here_)) {
      if (!history_.knows(other.point)) candidates.push_back(other.point);
    }
    random_.shuffle(candidates);
    // Where every neighbour is known the walk goes on over known ones: it must not be caught.
    if (candidates.empty()) return wander();
    const auto trial = history_.any_of(candidates);
    if (trial && accepted(trial->us, heat)) here_ = trial->point;
  }

  bool accepted(double us, double heat) {
    const double now = history_.us(here_);
    if (us <= now) return true;
    return std::isfinite(us) && random_.unit() < std::exp(-(us / now - 1) / heat);
  }

  void wander() {
    const std::vector<Neighbour> neighbours = history_.space().neighbours(here_);
    if (neighbours.empty()) return;
    here_ = neighbours[static_cast<std::size_t>(random_.below(neighbours.size()))].point;
  }

  // From the best so far, or as often from somewhere new.
  void restart() {
    if (history_.over()) return;
    here_ = history_.fastest(1).front();
    if (random_.below(2) == 0) return;
    if (const auto trial = history_.any_of(history_.unknowns(random_, kSample))) here_ = trial->point;
  }

  SearchHistory history_;
  Random random_;
  int here_ = 0;
};

}  // namespace

void search_annealing(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend) {
  Annealing(space, seed, backend).run(first);
}

}  // namespace quern
