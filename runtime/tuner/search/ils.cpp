// Iterated local search (Lourenço, Martin, Stützle: Iterated local search, Handbook of Metaheuristics, 2003), with
// four choices that saved spaces showed to pay:
// - Neighbours are tried from the nearest value outwards: times change little from one value to the next, so a near
//   neighbour of a good point is seldom bad, and the far values of a long axis are not all tried before a short one's.
// - A kick is short for the same reason: what it loses is then won back in few steps, in another basin or not.
// - A step that paid is tried again in its direction first.
// - The best three of the sample are descended from before the first kick: in spaces with several basins the best
//   alone is often in the wrong one.
#include <algorithm>

#include "tuner/search/descent.h"
#include "tuner/search/strategies.h"

namespace quern {
namespace {

constexpr int kSample = 20;
constexpr int kStarts = 3;
constexpr int kKickedAxes = 2;
constexpr int kKicks = 8;  // shown to the backend at a time
constexpr int kTries = 200;

class IteratedLocalSearch {
 public:
  IteratedLocalSearch(const Space& space, std::uint64_t seed, Backend& backend)
      : history_(space, backend), random_(seed) {}

  void run(const std::vector<int>& first) {
    if (!history_.all_of(first) || !history_.all_of(history_.unknowns(random_, kSample))) return;
    for (const int start : history_.fastest(kStarts)) descend_from(start);
    while (!history_.over()) {
      if (const auto trial = history_.any_of(kicks())) descend_from(trial->point);
    }
  }

 private:
  void descend_from(int start) {
    const int end = descend(history_, start,
                            [this](auto& neighbours, const Heading& heading) { nearest_first(neighbours, heading); });
    if (best_ < 0 || history_.us(end) <= history_.us(best_)) best_ = end;
  }

  void nearest_first(std::vector<Neighbour>& neighbours, const Heading& heading) {
    random_.shuffle(neighbours);
    const auto rank = [&](const Neighbour& n) {
      const bool onward = n.axis == heading.axis && n.way == heading.way;
      return onward && n.rank == 1 ? 0 : n.rank;
    };
    std::stable_sort(neighbours.begin(), neighbours.end(),
                     [&](const Neighbour& a, const Neighbour& b) { return rank(a) < rank(b); });
  }

  // The best so far with up to two axes changed, each by one place with even odds, two with half of that, and so on.
  int kick() {
    std::vector<int> indices = history_.space().indices(best_);
    for (int i = 0; i < kKickedAxes; ++i) {
      const int way = random_.below(2) == 0 ? 1 : -1;
      int& place = indices[static_cast<std::size_t>(random_.below(indices.size()))];
      do place += way;
      while (random_.below(2) == 0);
    }
    return history_.space().find(indices);
  }

  // Kicks to points that are not known; where there are none left, a random one.
  std::vector<int> kicks() {
    std::vector<int> points;
    for (int i = 0; i < kTries && points.size() < kKicks; ++i) {
      const int point = kick();
      if (point >= 0 && !history_.knows(point)) points.push_back(point);
    }
    if (points.empty()) points.push_back(history_.unknown(random_));
    return points;
  }

  SearchHistory history_;
  Random random_;
  int best_ = -1;
};

}  // namespace

void search_ils(const Space& space, const std::vector<int>& first, std::uint64_t seed, Backend& backend) {
  IteratedLocalSearch(space, seed, backend).run(first);
}

}  // namespace quern
