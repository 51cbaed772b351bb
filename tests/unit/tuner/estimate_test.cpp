// The estimator against noise and drift as devices have them, made up.
#include "testbench/estimate.h"

#include <gtest/gtest.h>

#include <random>

namespace quern {
namespace {

// A floor, a little jitter above it, and one sample in 25 that something interrupted.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}
  double time(double floor) {
    const double jitter = std::exponential_distribution<>(200)(random_);
    const double hit = std::uniform_real_distribution<>()(random_) < 0.04 ? 0.3 : 0;
    return floor * (1 + jitter + hit);
  }
  std::vector<double> times(double floor, int count) {
    std::vector<double> all;
    for (int i = 0; i < count; ++i) all.push_back(time(floor));
    return all;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Estimate, QuantilesLieBetweenTheNearestSamples) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(quantile({0, 10}, 0.2), 2);
  EXPECT_EQ(quantile({7}, 0.9), 7);
}

TEST(Estimate, AMedianIgnoresAFewOutliers) {
  EXPECT_EQ(median_interval({1, 1, 1, 1, 1, 1, 1, 1, 50, 60}).middle, 1);
  EXPECT_LT(median_interval(Noise(1).times(1, 21)).high, 1.02);
}

// Ranks from the binomial table: of 15 samples the 4th smallest and largest, of 21 the 6th.
TEST(Estimate, TheIntervalIsThatOfTheBinomialTable) {
  std::vector<double> values;
  for (int i = 1; i <= 15; ++i) values.push_back(i);
  EXPECT_EQ(median_interval(values).low, 4);
  EXPECT_EQ(median_interval(values).high, 12);
  for (int i = 16; i <= 21; ++i) values.push_back(i);
  EXPECT_EQ(median_interval(values).low, 6);
  EXPECT_EQ(median_interval(values).high, 16);
  EXPECT_EQ(median_interval({5, 1, 3}).low, 1);
  EXPECT_EQ(median_interval({5, 1, 3}).high, 5);
}

TEST(Estimate, TheIntervalHoldsTheTruthAsOftenAsItSays) {
  Noise noise(7);
  const double truth = median(noise.times(1, 100'001));
  int holds = 0;
  for (int i = 0; i < 2000; ++i) holds += median_interval(noise.times(1, 21)).holds(truth) ? 1 : 0;
  EXPECT_GT(holds, 2000 * 0.94);
  EXPECT_LT(holds, 2000 * 0.995);
}

TEST(Estimate, FewerSamplesLeaveAWiderBand) {
  Noise noise(3);
  double few = 0;
  double many = 0;
  for (int i = 0; i < 200; ++i) {
    few += noise_band(noise.times(1, 7));
    many += noise_band(noise.times(1, 21));
  }
  EXPECT_GT(few, 2 * many);
}

// Clocks fall by 5 % over the comparison: blocks of A and then B would blame it on B.
TEST(Estimate, PairsCancelADriftThatBlocksDoNot) {
  Noise noise(11);
  constexpr int kRounds = 20;
  double clock = 1;
  const auto next = [&](double floor) { return noise.time(floor) * (clock += 0.05 / (4 * kRounds)); };
  std::vector<Round> rounds;
  for (int i = 0; i < kRounds; ++i) {
    Round r;
    r.a1 = next(10), r.b1 = next(10), r.b2 = next(10), r.a2 = next(10);
    rounds.push_back(r);
  }
  const Interval paired = paired_difference(rounds);
  EXPECT_TRUE(paired.holds(0)) << paired.low << " to " << paired.high;
  std::vector<double> first;
  std::vector<double> second;
  clock = 1;
  for (int i = 0; i < 2 * kRounds; ++i) first.push_back(next(10));
  for (int i = 0; i < 2 * kRounds; ++i) second.push_back(next(10));
  EXPECT_GT(median(second) / median(first), 1.01);
}

TEST(Estimate, PairsSeeADifferenceOfOnePercent) {
  Noise noise(13);
  int seen = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<Round> rounds;
    for (int r = 0; r < 15; ++r) rounds.push_back({noise.time(10), noise.time(9.8), noise.time(9.8), noise.time(10)});
    seen += paired_difference(rounds).high < 0 ? 1 : 0;
  }
  EXPECT_GT(seen, 90);
}

}  // namespace
}  // namespace quern
