#include "tuner/search/descent.h"

#include <algorithm>

namespace quern {
namespace {

// The neighbour that is known to be fastest, if it is faster than `here`.
int known_way_down(const SearchHistory& history, int here, const std::vector<Neighbour>& neighbours) {
  int best = here;
  for (const Neighbour& other : neighbours) {
    if (history.knows(other.point) && history.us(other.point) < history.us(best)) best = other.point;
  }
  return best;
}

// Measures neighbours until one is faster than `here`; `here` if none is.
int measured_way_down(SearchHistory& history, int here, const std::vector<Neighbour>& neighbours) {
  std::vector<int> candidates;
  for (const Neighbour& other : neighbours) candidates.push_back(other.point);
  while (const auto trial = history.any_of(candidates)) {
    if (trial->us < history.us(here)) return trial->point;
  }
  return here;
}

Heading heading_to(int point, const std::vector<Neighbour>& neighbours) {
  for (const Neighbour& other : neighbours) {
    if (other.point == point) return {other.axis, other.way};
  }
  return {};
}

}  // namespace

int descend(SearchHistory& history, int start, const Order& order) {
  Heading heading;
  for (int here = start;;) {
    std::vector<Neighbour> neighbours = history.space().neighbours(here);
    int next = known_way_down(history, here, neighbours);
    if (next == here) {
      order(neighbours, heading);
      next = measured_way_down(history, here, neighbours);
    }
    if (next == here) return here;
    heading = heading_to(next, neighbours);
    here = next;
  }
}

}  // namespace quern
