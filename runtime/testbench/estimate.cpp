#include "testbench/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace quern {
namespace {

constexpr double kConfidence = 0.95;

// The largest k for which the k-th smallest and the k-th largest of `n` enclose the median with kConfidence; 1 if there
// is none.
std::size_t rank_of_interval(std::size_t n) {
  double tail = 0;                                       // P(heads < k)
  double heads = std::pow(0.5, static_cast<double>(n));  // P(heads == k - 1)
  std::size_t k = 1;
  for (; 2 * k <= n; ++k) {
    tail += heads;
    if (2 * tail > 1 - kConfidence) break;
    heads *= static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  return std::max<std::size_t>(1, k - 1);
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

Interval median_interval(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t k = rank_of_interval(sorted.size());
  return {sorted[k - 1], median(sorted), sorted[sorted.size() - k]};
}

double noise_band(const std::vector<double>& samples) {
  const Interval interval = median_interval(samples);
  return interval.middle > 0 ? (interval.high - interval.low) / 2 / interval.middle : 0;
}

Interval paired_difference(const std::vector<Round>& rounds) {
  std::vector<double> differences;
  for (const Round& r : rounds) differences.push_back((r.b1 + r.b2) / (r.a1 + r.a2) - 1);
  return median_interval(differences);
}

}  // namespace quern
