#include "tuner/evaluate/final_comparison.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

Finalist finalist(int point, double percent, double half_width = 0.2) {
  Finalist f;
  f.point = point;
  f.difference = {(percent - half_width) / 100, percent / 100, (percent + half_width) / 100};
  return f;
}
Finalist usual() {
  Finalist f = finalist(50, 0, 0);
  f.is_default = true;
  return f;
}
Finalist incumbent(int point, double percent) {
  Finalist f = finalist(point, percent);
  f.is_incumbent = true;
  return f;
}

TEST(Choose, WhatIsClearlyFasterWins) {
  const Decision decision = pick_winner({usual(), finalist(3, -2), finalist(7, -6)});
  EXPECT_EQ(decision.winner, 2U);
  EXPECT_STREQ(decision.why, "faster");
  EXPECT_TRUE(decision.rivals.empty());
  EXPECT_EQ(decision.band, kLeastBand);
}

TEST(Choose, AmongEqualsTheDefaultStays) {
  const Decision decision = pick_winner({finalist(3, -0.4), usual(), finalist(7, -0.3)});
  EXPECT_EQ(decision.winner, 1U);
  EXPECT_STREQ(decision.why, "default");
  EXPECT_EQ(decision.rivals, (std::vector<std::size_t>{0, 2}));
}

TEST(Choose, AmongEqualsTheIncumbentComesBeforeTheDefault) {
  const Decision decision = pick_winner({usual(), finalist(3, -0.4), incumbent(9, -0.1)});
  EXPECT_EQ(decision.winner, 2U);
  EXPECT_STREQ(decision.why, "incumbent");
}

TEST(Choose, AmongOtherEqualsTheFirstInOrderWins) {
  const Decision decision = pick_winner({usual(), finalist(9, -5.2), finalist(4, -5), finalist(6, -4.9)});
  EXPECT_EQ(decision.winner, 2U);
  EXPECT_STREQ(decision.why, "first in order");
}

TEST(Choose, ANoisyBestHasAWiderBand) {
  const Decision decision = pick_winner({usual(), finalist(9, -1.5, 2)});
  EXPECT_NEAR(decision.band, 0.02, 1e-12);
  EXPECT_STREQ(decision.why, "default");
}

TEST(Choose, ASlowIncumbentDoesNotStay) {
  const Decision decision = pick_winner({usual(), incumbent(2, 3), finalist(9, -4)});
  EXPECT_EQ(decision.winner, 2U);
}

TEST(Choose, AnIncumbentIsBeatenTwiceOrNotAtAll) {
  const Interval faster{-0.03, -0.02, -0.01};
  const Interval equal{-0.01, -0.002, 0.006};
  const Interval unsure{-0.05, -0.02, 0.01};
  EXPECT_TRUE(beats_twice(faster, faster, 0.005));
  EXPECT_FALSE(beats_twice(faster, equal, 0.005));
  EXPECT_FALSE(beats_twice(equal, faster, 0.005));
  EXPECT_FALSE(beats_twice(faster, unsure, 0.005));
  EXPECT_FALSE(beats_twice(faster, faster, 0.025));
}

}  // namespace
}  // namespace quern
