// First-improvement descent: from a point to a local optimum, a neighbour at a time.
#ifndef QUERN_TUNER_SEARCH_DESCENT_H_
#define QUERN_TUNER_SEARCH_DESCENT_H_

#include <functional>

#include "tuner/search/search_history.h"

namespace quern {

// The step that last paid: its axis, and whether to a later value (1) or an earlier one (-1). axis < 0: none yet.
struct Heading {
  int axis = -1;
  int way = 0;
};

// Puts the neighbours of a point in the order in which they are tried.
using Order = std::function<void(std::vector<Neighbour>& neighbours, const Heading& heading)>;

// Moves from `start`, which is known, to the first neighbour that is faster, until none is or the history is over.
// Returns where it ended. Neighbours that are known cost nothing.
int descend(SearchHistory& history, int start, const Order& order);

}  // namespace quern

#endif  // QUERN_TUNER_SEARCH_DESCENT_H_
