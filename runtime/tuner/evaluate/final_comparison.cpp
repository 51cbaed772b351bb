#include "tuner/evaluate/final_comparison.h"

#include <algorithm>
#include <cstddef>

namespace quern {
namespace {

// Losing one comparison may be noise.
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

Decision pick_winner(const std::vector<Finalist>& finalists) {
  const auto faster = [](const Finalist& a, const Finalist& b) { return a.difference.middle < b.difference.middle; };
  const auto best = std::min_element(finalists.begin(), finalists.end(), faster);
  Decision decision;
  decision.winner = static_cast<std::size_t>(best - finalists.begin());
  decision.band = std::max(kLeastBand, (best->difference.high - best->difference.low) / 2);
  std::vector<std::size_t> equals;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (finalists[i].difference.middle - best->difference.middle <= decision.band) equals.push_back(i);
  }
  const auto order = [&](std::size_t i) {
    const Finalist& f = finalists[i];
    return std::pair(f.is_incumbent ? 0 : f.is_default ? 1 : 2, f.point);
  };
  decision.why = "faster";
  if (equals.size() > 1) {
    decision.winner = *std::min_element(equals.begin(), equals.end(),
                                        [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
    decision.why = "first in order";
  }
  if (finalists[decision.winner].is_default) decision.why = "default";
  if (finalists[decision.winner].is_incumbent) decision.why = "incumbent";
  std::copy_if(equals.begin(), equals.end(), std::back_inserter(decision.rivals),
               [&](std::size_t i) { return i != decision.winner; });
  return decision;
}

bool beats_twice(const Interval& first, const Interval& second, double band) {
  return first.middle < -band && first.high < 0 && second.middle < -band && second.high < 0;
}

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
