#include "tuner/measure.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/driver/support.h"

namespace quern {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(RotatingSets, TogetherExceedTheCacheSeveralTimes) {
  for (const std::int64_t l2 : {6 * kMiB, 50 * kMiB, 60 * kMiB, 126 * kMiB}) {
    for (const std::int64_t bytes : {kMiB, 7 * kMiB, 64 * kMiB, 256 * kMiB, 1024 * kMiB}) {
      const int sets = rotating_sets(bytes, l2);
      EXPECT_GE(sets, 2);
      EXPECT_LE(sets, 400);
      EXPECT_TRUE(sets == 400 || sets * bytes >= 4 * l2) << bytes << " bytes, L2 of " << l2;
      EXPECT_GE((sets - 1) * bytes, 2 * l2) << "what ran since a set was used";
    }
  }
}

TEST(RotatingSets, AreFewWhereCallsAreSmall) {
  EXPECT_EQ(rotating_sets(1, 50 * kMiB), rotating_sets(1000, 50 * kMiB));
  EXPECT_LE(rotating_sets(1000, 50 * kMiB), 8);
}

class NullMeasure : public ::testing::Test {
 protected:
  void SetUp() override { test::reset_null_driver(); }
  const Driver driver_{null_driver_table()};
};

// The null driver captures nothing.
TEST_F(NullMeasure, AGraphWithoutNodesIsNoMeasurement) {
  for (const std::int64_t bytes : {1000, 1 << 30}) {
    try {
      measure(driver_, {[](CUstream, int) {}, rotating_sets(bytes, kMiB), bytes, kMiB});
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(error.sentence.find("fewer nodes than calls"), std::string::npos) << error.sentence;
    }
  }
}

TEST_F(NullMeasure, HostTimeOfACallIsPositive) {
  const Driver& driver = driver_;
  const CUlaunchConfig config{};
  const double ns = measure_host_ns([&] { driver->LaunchKernelEx(&config, nullptr, nullptr, nullptr); });
  EXPECT_GT(ns, 0);
  EXPECT_LT(ns, 1e6);
}

TEST_F(NullMeasure, EqualCallsDoNotDifferMuchAndUnequalOnesDo) {
  const Driver& driver = driver_;
  const CUlaunchConfig config{};
  int settled = 0;
  const auto one = [&] { driver->LaunchKernelEx(&config, nullptr, nullptr, nullptr); };
  const auto many = [&] {
    for (int i = 0; i < 200; ++i) one();
  };
  const PairedNs same = measure_paired_ns(one, one, [&] { ++settled; });
  EXPECT_GT(settled, 100);
  EXPECT_LE(same.low, same.difference);
  EXPECT_LE(same.difference, same.high);
  // Wide, since other processes run too.
  EXPECT_LT(std::min(std::abs(same.low), std::abs(same.high)), 10 * same.a + 1000);
  const PairedNs different = measure_paired_ns(one, many, [] {});
  EXPECT_GT(different.b, different.a);
  EXPECT_GT(different.difference, 0);
}

}  // namespace
}  // namespace quern
