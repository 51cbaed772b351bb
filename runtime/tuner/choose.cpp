#include "tuner/choose.h"

#include <algorithm>
#include <cstddef>

namespace quern {

Choice choose(const std::vector<Finalist>& finalists) {
  const auto faster = [](const Finalist& a, const Finalist& b) { return a.difference.middle < b.difference.middle; };
  const auto best = std::min_element(finalists.begin(), finalists.end(), faster);
  Choice choice;
  choice.winner = static_cast<std::size_t>(best - finalists.begin());
  choice.band = std::max(kLeastBand, (best->difference.high - best->difference.low) / 2);
  std::vector<std::size_t> equals;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (finalists[i].difference.middle - best->difference.middle <= choice.band) equals.push_back(i);
  }
  const auto order = [&](std::size_t i) {
    const Finalist& f = finalists[i];
    return std::pair(f.is_incumbent ? 0 : f.is_default ? 1 : 2, f.point);
  };
  choice.why = "faster";
  if (equals.size() > 1) {
    choice.winner = *std::min_element(equals.begin(), equals.end(),
                                      [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
    choice.why = "first in order";
  }
  if (finalists[choice.winner].is_default) choice.why = "default";
  if (finalists[choice.winner].is_incumbent) choice.why = "incumbent";
  std::copy_if(equals.begin(), equals.end(), std::back_inserter(choice.rivals),
               [&](std::size_t i) { return i != choice.winner; });
  return choice;
}

bool beats_twice(const Interval& first, const Interval& second, double band) {
  return first.middle < -band && first.high < 0 && second.middle < -band && second.high < 0;
}

}  // namespace quern
