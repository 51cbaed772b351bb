#include "tuner/evaluate/final_comparison.h"

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

FinalComparison compare_finalists(std::vector<Finalist> contenders, const ComparePoints& compare) {
  FinalComparison final_comparison;
  final_comparison.finalists = std::move(contenders);
  const int base = final_comparison.finalists.front().point;
  for (Finalist& finalist : final_comparison.finalists) {
    finalist.difference = {};
    if (finalist.point != base) finalist.difference = paired_difference(compare(base, finalist.point));
  }
  final_comparison.decision = pick_winner(final_comparison.finalists);
  keep_incumbent(final_comparison.finalists, compare, final_comparison.decision);
  return final_comparison;
}

}  // namespace quern
