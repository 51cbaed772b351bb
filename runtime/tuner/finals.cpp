#include "tuner/finals.h"

#include <algorithm>
#include <cstddef>

namespace quern {
namespace {

// One that is beaten once may have had a bad day.
void keep_incumbent(const std::vector<Finalist>& finalists, const ComparePoints& compare, Decision& decision) {
  const auto incumbent =
      std::find_if(finalists.begin(), finalists.end(), [](const Finalist& f) { return f.is_incumbent; });
  if (incumbent == finalists.end() || finalists[decision.winner].is_incumbent) return;
  const int challenger = finalists[decision.winner].point;
  const Interval first = paired_difference(compare(incumbent->point, challenger));
  const Interval second = paired_difference(compare(incumbent->point, challenger));
  if (beats_twice(first, second, decision.band)) return;
  decision.rivals.push_back(decision.winner);
  decision.winner = static_cast<std::size_t>(incumbent - finalists.begin());
  decision.why = "incumbent";
}

}  // namespace

Finals hold_finals(std::vector<Finalist> contenders, const ComparePoints& compare) {
  Finals finals;
  finals.finalists = std::move(contenders);
  const int base = finals.finalists.front().point;
  for (Finalist& finalist : finals.finalists) {
    finalist.difference = {};
    if (finalist.point != base) finalist.difference = paired_difference(compare(base, finalist.point));
  }
  finals.decision = choose(finals.finalists);
  keep_incumbent(finals.finalists, compare, finals.decision);
  return finals;
}

}  // namespace quern
