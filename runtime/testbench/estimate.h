// Estimates from a sample of times. A kernel's time has a floor and rare, large outliers upwards (interrupts,
// refreshes, a clock that steps). So the estimate is the median, which a few outliers do not move, and its confidence
// interval comes from order statistics, which assume no distribution: of n samples, the true median lies between the
// k-th smallest and the k-th largest with the probability that a fair coin gives between k and n - k heads in n throws.
// With fewer than 15 samples the interval is too wide to decide the winner of a sweep.
//
// Two configs that differ by less than a percent are compared in pairs, in the order A B B A: an even drift (clocks,
// temperature) adds the same to both sides of such a round, and only the ratios of the rounds are used.
#ifndef QUERN_TESTBENCH_ESTIMATE_H_
#define QUERN_TESTBENCH_ESTIMATE_H_

#include <vector>

namespace quern {

inline constexpr int kMinSamples = 15;

// The quantile, interpolated between the two nearest order statistics; 0 <= q <= 1. REQUIRES: values is not empty.
double quantile(std::vector<double> values, double q);
double median(const std::vector<double>& values);

struct Interval {
  double low = 0;
  double middle = 0;  // the median
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

// The median with its confidence interval of at least 95 %; with fewer than 6 values that is from the smallest to the
// largest. REQUIRES: values is not empty.
Interval median_interval(const std::vector<double>& values);

// The half-width of that interval relative to the median: the difference that two equal configs may show.
double noise_band(const std::vector<double>& samples);

// One round of a comparison, A B B A, in microseconds.
struct Round {
  double a1 = 0;
  double b1 = 0;
  double b2 = 0;
  double a2 = 0;
};

// The slowdown of B as a fraction of A's time (negative: faster), over all rounds. REQUIRES: rounds is not empty.
Interval paired_difference(const std::vector<Round>& rounds);

}  // namespace quern

#endif  // QUERN_TESTBENCH_ESTIMATE_H_
