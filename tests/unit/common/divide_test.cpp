#include "common/divide.cuh"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace quern::common {
namespace {

constexpr u64 kEnd32 = u64{1} << 31, kEnd64 = u64{1} << 63;

void expect_divides(u64 n, u64 d, const Divisor& divisor) {
  ASSERT_TRUE(n >= kEnd64 || divide(n, divisor) == n / d) << n << " / " << d;
  ASSERT_TRUE(n >= kEnd32 || divide32(static_cast<u32>(n), divisor) == n / d) << n << " / " << d;
  ASSERT_TRUE(n >= kEnd32 || divide32(static_cast<u32>(n), make_divisor32(d)) == n / d) << n << " / " << d;
}

// A quotient can only be wrong next to a multiple of the divisor; the error is largest for large numbers.
void expect_divides_near(u64 n, u64 d, const Divisor& divisor) {
  const u64 multiple = n / d * d;
  for (u64 i = 0; i < 5; ++i) expect_divides(multiple + i - 2, d, divisor);  // wraps to numbers that are skipped
}

std::vector<u64> divisors() {
  std::vector<u64> all;
  for (u64 d = 1; d <= 3000; ++d) all.push_back(d);
  for (int bit = 2; bit < 64; ++bit) {
    for (u64 i = 0; i < 5; ++i) all.push_back((u64{1} << bit) + i - 2);
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) all.push_back((random() >> (random() % 63)) | 1);
  all.push_back(~u64{0});
  return all;
}

TEST(Divide, IsExactNearMultiples) {
  std::mt19937_64 random(6);
  for (const u64 d : divisors()) {
    const Divisor divisor = make_divisor(d);
    for (const u64 n : {u64{0}, d, 2 * d, kEnd32 - 1, kEnd32 / 2, kEnd64 - 1, kEnd64 / 2}) {
      expect_divides_near(n, d, divisor);
      expect_divides(n, d, divisor);
    }
    for (int i = 0; i < 60; ++i) expect_divides_near(random() >> (1 + random() % 62), d, divisor);
  }
}

TEST(Divide, SmallByEveryThing) {
  for (u64 d = 1; d < 700; ++d) {
    const Divisor divisor = make_divisor(d);
    for (u64 n = 0; n < 3000; ++n) expect_divides(n, d, divisor);
  }
}

TEST(Divide, WideDivisorsGiveZeroIn32Bits) {
  for (const u64 d : {kEnd32, kEnd32 + 1, u64{1} << 32, (u64{1} << 40) + 3, kEnd64, ~u64{0}}) {
    for (const u32 n : {0u, 1u, 0x7fffffffu}) {
      EXPECT_EQ(divide32(n, make_divisor(d)), 0u) << d;
      EXPECT_EQ(divide32(n, make_divisor32(d)), 0u) << d;
    }
  }
}

TEST(Divide, IsMadeAtCompileTimeToo) {
  constexpr Divisor kSeven = make_divisor(7);
  EXPECT_EQ(divide32(50, kSeven), 7u);
}

}  // namespace
}  // namespace quern::common
