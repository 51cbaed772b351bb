// What a sample of times says. A kernel's time has a floor and rare, large outliers upwards (interrupts, refreshes, a
// clock that steps), so the middle is taken by the median, which a few outliers do not move, and its uncertainty by
// order statistics, which assume no distribution: of n samples, the true median lies between the k-th smallest and the
// k-th largest with the probability that a fair coin gives between k and n - k heads in n throws. Fewer than 15 samples
// leave so wide an interval that the winner of a sweep would be a matter of luck.
//
// Two configs that differ by less than a percent are compared in pairs, in the order A B B A: whatever drifts evenly
// (clocks, temperature) adds the same to both sides of such a round, and only the rounds' ratios are looked at.
#ifndef QUERN_TESTBENCH_ESTIMATE_H_
#define QUERN_TESTBENCH_ESTIMATE_H_

#include <vector>

namespace quern {

inline constexpr int kMinSamples = 15;

// Between the two nearest order statistics; 0 <= q <= 1. REQUIRES: values is not empty.
double quantile(std::vector<double> values, double q);
double median(const std::vector<double>& values);

struct Interval {
  double low = 0;
  double middle = 0;  // the median
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

// The median with its interval of at least 95 %, from the smallest to the largest where there are fewer than 6 values.
// REQUIRES: values is not empty.
Interval median_interval(const std::vector<double>& values);

// The half-width of that interval relative to the median: what two equal configs may differ by.
double noise_band(const std::vector<double>& samples);

// One round of a comparison, A B B A, in microseconds.
struct Round {
  double a1 = 0;
  double b1 = 0;
  double b2 = 0;
  double a2 = 0;
};

// How much slower B is, as a fraction of A's time (negative: faster), over all rounds. REQUIRES: rounds is not empty.
Interval paired_difference(const std::vector<Round>& rounds);

}  // namespace quern

#endif  // QUERN_TESTBENCH_ESTIMATE_H_
