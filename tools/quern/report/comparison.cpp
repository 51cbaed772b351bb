#include "report/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/text.h"

namespace quern::tool::report {
namespace {

struct Interval {
  double low;
  double high;
};

// The 95 % confidence interval of a median by order statistics: the number of n samples below it is binomial with p =
// 1/2.
Interval median_interval(const SweepTrial& trial) {
  std::vector<double> sorted = trial.samples;
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<int>(sorted.size());
  double probability = std::pow(0.5, n);  // of exactly `below` samples
  double tail = 0;
  int below = 0;
  while (below < n && tail + probability <= 0.025) {
    tail += probability;
    probability *= static_cast<double>(n - below) / (below + 1);
    ++below;
  }
  if (below == 0) return {trial.us, trial.us};  // too few samples
  return {std::min(trial.us, sorted[static_cast<std::size_t>(below - 1)]),
          std::max(trial.us, sorted[static_cast<std::size_t>(n - below)])};
}

double less_time(double first, double second) { return 100 * (1 - second / first); }

// Ties share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  std::vector<double> ranks(times.size());
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && times[order[to]] == times[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) ranks[order[i]] = static_cast<double>(from + to - 1) / 2;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  const double ma = mean(a);
  const double mb = mean(b);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

void pair_up(Comparison& comparison) {
  std::unordered_map<std::string_view, int> in_second;
  const std::vector<Timed>& timed = comparison.second->timed;
  for (std::size_t i = 0; i < timed.size(); ++i) in_second.emplace(timed[i].trial->config, static_cast<int>(i));
  for (int i = 0; i < static_cast<int>(comparison.first->timed.size()); ++i) {
    const auto found = in_second.find(comparison.first->at(i).trial->config);
    if (found != in_second.end()) comparison.common.push_back({i, found->second});
  }
}

void rank(Comparison& comparison) {
  comparison.ranked = comparison.common.size() >= 3;
  if (!comparison.ranked) return;
  std::vector<double> first;
  std::vector<double> second;
  for (const Pair& pair : comparison.common) {
    first.push_back(comparison.first->us(pair.first));
    second.push_back(comparison.second->us(pair.second));
  }
  comparison.rank_agreement = correlation(ranks_of(first), ranks_of(second));
}

void note_what_differs(Comparison& comparison) {
  const SweepHead& a = comparison.first->head();
  const SweepHead& b = comparison.second->head();
  if (a.problem != b.problem)
    comparison.notes.emplace_back("the problems differ, so the times are not for the same work");
  if (a.regime != b.regime)
    comparison.notes.push_back(
        cat("the first was measured with a ", a.regime, " L2, the second with a ", b.regime, " one"));
  if (a.space != b.space) comparison.notes.emplace_back("the tuning spaces differ");
  for (const auto& [head, which] : {std::pair(&a, "first"), std::pair(&b, "second")}) {
    if (!head->clocks.throttled.empty())
      comparison.notes.push_back(cat("the clocks of the ", which, " were throttled: ", head->clocks.throttled));
  }
}

}  // namespace

const Pair* Comparison::of_first(int index) const {
  const auto found = std::find_if(common.begin(), common.end(), [&](const Pair& pair) { return pair.first == index; });
  return found == common.end() ? nullptr : &*found;
}

const Pair* Comparison::of_second(int index) const {
  const auto found = std::find_if(common.begin(), common.end(), [&](const Pair& pair) { return pair.second == index; });
  return found == common.end() ? nullptr : &*found;
}

Comparison compare(const SweepView& first, const SweepView& second) {
  Comparison comparison;
  comparison.first = &first;
  comparison.second = &second;
  pair_up(comparison);
  rank(comparison);
  note_what_differs(comparison);
  return comparison;
}

Difference difference(const SweepTrial& first, const SweepTrial& second) {
  const Interval a = median_interval(first);
  const Interval b = median_interval(second);
  return {less_time(first.us, second.us), less_time(a.low, b.high), less_time(a.high, b.low)};
}

}  // namespace quern::tool::report
