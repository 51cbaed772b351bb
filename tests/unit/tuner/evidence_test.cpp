#include "tuner/search/evidence.h"

#include <gtest/gtest.h>

#include "unit/tuner/synthetic.h"

namespace quern {
namespace {

// The number of trials of `us` until the rule stops; `limit` if it does not.
template <class F>
int trials_until_enough(Evidence& evidence, F us, int limit = 2000) {
  int count = 0;
  while (!evidence.enough() && count < limit) evidence.add({count, us(count)}), ++count;
  return count;
}

TEST(Evidence, ABestThatStandsIsEnough) {
  Evidence evidence;
  const int count = trials_until_enough(evidence, [](int) { return 10.0; });
  EXPECT_GE(count, 50);
  EXPECT_LE(count, 150);
}

TEST(Evidence, GainsPutTheStopOff) {
  Evidence still;
  Evidence gaining;
  const int alone = trials_until_enough(still, [](int) { return 10.0; });
  EXPECT_EQ(trials_until_enough(
                gaining, [](int i) { return 1000.0 - i / 2; }, 500),
            500);
  const int after = trials_until_enough(gaining, [](int) { return 1000.0; });
  EXPECT_GT(after, alone) << "a search that gained late gets more patience";
}

TEST(Evidence, GainsWithinTheNoiseDoNot) {
  Evidence a;
  Evidence b;
  EXPECT_EQ(trials_until_enough(a, [](int i) { return i == 40 ? 9.98 : 10.0; }),
            trials_until_enough(b, [](int) { return 10.0; }));
}

// Small gains add up: the best is compared with the one that counted, not with the last.
TEST(Evidence, SmallGainsAddUp) {
  Evidence evidence;
  EXPECT_EQ(trials_until_enough(
                evidence, [](int i) { return 10 - 0.001 * i; }, 500),
            500);
}

TEST(Evidence, NothingButFailuresIsNeverEnough) {
  Evidence evidence;
  EXPECT_EQ(trials_until_enough(evidence, [](int) { return test::kFailed; }), 2000);
  evidence.add({1, 5.0});
  EXPECT_FALSE(evidence.enough());
  EXPECT_GT(trials_until_enough(
                evidence, [](int) { return 6.0; }, 5000),
            100);
}

}  // namespace
}  // namespace quern
