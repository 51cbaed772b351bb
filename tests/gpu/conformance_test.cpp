// Every case of every family against its reference, on the device at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "driver/device.h"
#include "support/check.h"
#include "support/gpu.h"

namespace quern::test {
namespace {

class Conformance : public GpuTest {
 protected:
  void check_all(const std::vector<Case>& cases, bool guards = true) {
    double worst = 0;
    std::uint64_t seed = 1;
    for (const Case& c : cases) {
      ++seed;
      try {
        const CheckResult result = check_case(runtime(), driver(), c, seed, seed % 2 == 0, guards);
        worst = std::max(worst, result.max_error);
        EXPECT_EQ(result.failure, "") << describe(c);
      } catch (const Error& error) {
        ADD_FAILURE() << describe(c) << ": " << error.what();
      }
    }
    std::printf("%zu cases, largest error %g ulp\n", cases.size(), worst);
  }
};

TEST_F(Conformance, Gather) { check_all(gather_cases()); }
TEST_F(Conformance, Pointwise) { check_all(pointwise_cases()); }

TEST_F(Conformance, MoreThanTwoToTheThirtyOneElements) {
  if (std::getenv("QUERN_TEST_HUGE") == nullptr) GTEST_SKIP() << "set QUERN_TEST_HUGE=1: takes tens of GB";
  check_all(huge_cases(), false);
}

}  // namespace
}  // namespace quern::test
