// Iterated local search (Lourenço, Martin, Stützle: Iterated local search, Handbook of Metaheuristics, 2003), with four
// choices that paid on saved spaces:
// - Neighbours are tried in order of distance. Times change little from one value to the next, so a near neighbour of a
//   good point is seldom bad, and a short axis need not wait for the far values of a long one.
// - A kick is short for the same reason: a few steps recover its loss, in the same basin or another.
// - A step that paid is tried again in its direction first.
// - The search descends from the best three of the sample before the first kick: in spaces with several basins the best
//   one alone is often in the wrong basin.
#include <algorithm>
#include <functional>

#include "tuner/search/search_history.h"

namespace quern {
namespace {

// ---- First-improvement descent

// The step that last paid: its axis, and whether to a later value (1) or an earlier one (-1). axis < 0: none yet.
struct Heading {
  int axis = -1;
  int direction = 0;
};

// Puts the neighbours of a point in the order in which they are tried.
using Order = std::function<void(std::vector<Neighbour>& neighbours, const Heading& heading)>;

// The fastest known neighbour, if it is faster than `here`; else `here`.
int fastest_known(const SearchHistory& history, int here, const std::vector<Neighbour>& neighbours) {
  int best = here;
  for (const Neighbour& other : neighbours) {
    if (history.knows(other.point) && history.us(other.point) < history.us(best)) best = other.point;
  }
  return best;
}

// Measures neighbours until one is faster than `here`; `here` if none is.
int first_faster(SearchHistory& history, int here, const std::vector<Neighbour>& neighbours) {
  std::vector<int> candidates;
  for (const Neighbour& other : neighbours) candidates.push_back(other.point);
  while (const auto trial = history.any_of(candidates)) {
    if (trial->us < history.us(here)) return trial->point;
  }
  return here;
}

Heading heading_to(int point, const std::vector<Neighbour>& neighbours) {
  for (const Neighbour& other : neighbours) {
    if (other.point == point) return {other.axis, other.direction};
  }
  return {};
}

// Moves from `start`, which is known, to the first faster neighbour, until there is none or the history is over.
// Returns the end point. Known neighbours are not measured again.
int descend(SearchHistory& history, int start, const Order& order) {
  Heading heading;
  for (int here = start;;) {
    std::vector<Neighbour> neighbours = history.space().neighbours(here);
    int next = fastest_known(history, here, neighbours);
    if (next == here) {
      order(neighbours, heading);
      next = first_faster(history, here, neighbours);
    }
    if (next == here) return here;
    heading = heading_to(next, neighbours);
    here = next;
  }
}

// ---- Iterated local search

constexpr int kSample = 20;
constexpr int kStarts = 3;
constexpr int kKickedAxes = 2;
constexpr int kKicks = 8;  // candidates offered to the backend at a time
constexpr int kKickTries = 200;

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
      const bool onward = n.axis == heading.axis && n.direction == heading.direction;
      return onward && n.rank == 1 ? 0 : n.rank;
    };
    std::stable_sort(neighbours.begin(), neighbours.end(),
                     [&](const Neighbour& a, const Neighbour& b) { return rank(a) < rank(b); });
  }

  // The best so far with up to two axes changed, each by one place with probability 1/2, by two with 1/4, and so on.
  int kick() {
    std::vector<int> indices = history_.space().indices(best_);
    for (int i = 0; i < kKickedAxes; ++i) {
      const int direction = random_.below(2) == 0 ? 1 : -1;
      int& place = indices[static_cast<std::size_t>(random_.below(indices.size()))];
      do place += direction;
      while (random_.below(2) == 0);
    }
    return history_.space().find(indices);
  }

  // Kicks to points that are not known; if there are none, a random one.
  std::vector<int> kicks() {
    std::vector<int> points;
    for (int i = 0; i < kKickTries && points.size() < kKicks; ++i) {
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
