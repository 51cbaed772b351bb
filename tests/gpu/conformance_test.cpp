// Every case of every family against its reference, on the device at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/parallel.h"
#include "driver/device.h"
#include "support/check.h"
#include "support/gpu.h"

namespace quern::test {
namespace {

class Conformance : public GpuTest {
 protected:
  // Every image on all cores; a failure shows again where the case runs.
  void prewarm(const std::vector<Case>& cases) {
    const std::string arch = target_of(describe_device(driver(), 0).arch).text();
    parallel_for(static_cast<std::int64_t>(cases.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const AnyProblem problem = runtime().parse(cases[static_cast<std::size_t>(i)].problem);
        try {
          runtime().prewarm(problem.family(), problem.data(), arch);
        } catch (const Error&) {
        }
      }
    });
  }

  void check_all(const std::vector<Case>& cases, bool guards = true) {
    prewarm(cases);
    // Under compute-sanitizer: every so many cases, without guard bands, which would hide an access outside.
    const char* stride = std::getenv("QUERN_TEST_SANITIZER_STRIDE");
    const std::size_t step = stride == nullptr ? 1 : static_cast<std::size_t>(std::max(1, std::atoi(stride)));
    if (stride != nullptr) guards = false;
    double worst = 0;
    std::uint64_t seed = 1;
    for (std::size_t i = 0; i < cases.size(); i += step) {
      const Case& c = cases[i];
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

TEST_F(Conformance, Skeleton) { check_all(skeleton_cases()); }

TEST_F(Conformance, MoreThanTwoToTheThirtyOneElements) {
  if (std::getenv("QUERN_TEST_HUGE") == nullptr) GTEST_SKIP() << "set QUERN_TEST_HUGE=1: takes tens of GB";
  check_all(huge_cases(), false);
}

}  // namespace
}  // namespace quern::test
