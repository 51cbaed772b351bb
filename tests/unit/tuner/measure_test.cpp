#include "testbench/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "unit/driver/support.h"

namespace quern {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(RotatingSets, TogetherExceedTheCacheSeveralTimes) {
  for (const std::int64_t l2 : {6 * kMiB, 50 * kMiB, 60 * kMiB, 126 * kMiB}) {
    for (const std::int64_t bytes : {kMiB, 7 * kMiB, 64 * kMiB, 256 * kMiB, 1024 * kMiB}) {
      const auto [sets, flush] = cold_sets(bytes, bytes, l2);
      EXPECT_FALSE(flush);
      EXPECT_GE(sets, 2);
      EXPECT_LE(sets, 400);
      EXPECT_TRUE(sets == 400 || sets * bytes >= 4 * l2) << bytes << " bytes, L2 of " << l2;
      EXPECT_GE((sets - 1) * bytes, 2 * l2) << "bytes read since a set was last used";
    }
  }
}

// Found by a drawn gather of 191 rows from 2.5 GB: 42 sets of it exceeded the memory of an H200.
TEST(RotatingSets, AreOneWhereACallUsesLittleOfItsOperands) {
  for (const std::int64_t bytes : {1000 * kMiB / 1000, 6 * kMiB, 100 * kMiB}) {
    const ColdSets cold = cold_sets(bytes, 2500 * kMiB, 60 * kMiB);
    EXPECT_EQ(cold.sets, 1) << bytes;
    EXPECT_TRUE(cold.flush) << bytes;
  }
  EXPECT_EQ(cold_sets(3000 * kMiB, 3000 * kMiB, 60 * kMiB).sets, 2);
}

TEST(RotatingSets, AreFewWhereCallsAreSmall) {
  for (const std::int64_t bytes : {1, 1000, 400'000}) {
    EXPECT_LE(cold_sets(bytes, bytes, 50 * kMiB).sets, 8);
    EXPECT_TRUE(cold_sets(bytes, bytes, 50 * kMiB).flush);
  }
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
      measure(driver_, {[](CUstream, int) {}, cold_sets(bytes, bytes, kMiB), bytes, kMiB});
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(error.sentence.find("fewer nodes than calls"), std::string::npos) << error.sentence;
    }
  }
}

// The median of 31 blocks of 2000 calls: 16 of these took that long or longer, within the time that all took.
TEST_F(NullMeasure, HostTimeIsThatOfOneCall) {
  const Driver& driver = driver_;
  const CUlaunchConfig config{};
  const auto start = std::chrono::steady_clock::now();
  const double ns = measure_host_ns([&] { driver->LaunchKernelEx(&config, nullptr, nullptr, nullptr); });
  const std::chrono::duration<double, std::nano> all = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(null_driver().launches, 1000 + 31 * 2000);
  EXPECT_GT(ns, 0);
  EXPECT_LE(16 * 2000 * ns, all.count());
}

TEST_F(NullMeasure, UnequalCallsDiffer) {
  const Driver& driver = driver_;
  const CUlaunchConfig config{};
  int settled = 0;
  const auto one = [&] { driver->LaunchKernelEx(&config, nullptr, nullptr, nullptr); };
  const auto many = [&] {
    for (int i = 0; i < 200; ++i) one();
  };
  measure_paired_ns(one, one, [&] { ++settled; });
  EXPECT_EQ(settled, 4 * (60 + 2)) << "after each block of a b b a, two rounds of which warm up";
  EXPECT_EQ(null_driver().launches, 4 * (60 + 2) * 200);
  const PairedNs different = measure_paired_ns(one, many, [] {});
  EXPECT_GT(different.b, different.a);
  EXPECT_GT(different.low, 0) << "200 calls take longer than one, beyond doubt";
}

}  // namespace
}  // namespace quern
