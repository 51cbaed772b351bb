#include "tuner/evaluate/final_comparison.h"

#include <gtest/gtest.h>

#include <map>

namespace quern {
namespace {

// Times by point, and the comparisons that were requested.
struct Pairs {
  std::map<int, double> us;
  std::vector<std::pair<int, int>> asked;
  // From the second comparison of a pair on.
  std::map<int, double> later_us;

  ComparePoints compare() {
    return [this](int a, int b) {
      const bool again = std::find(asked.begin(), asked.end(), std::pair(a, b)) != asked.end();
      asked.emplace_back(a, b);
      const double time = again && later_us.count(b) > 0 ? later_us[b] : us[b];
      return std::vector<Round>(kRounds, Round{us[a], time, time, us[a]});
    };
  }
};

TEST(FinalComparison, EachIsComparedWithTheFirst) {
  Pairs pairs{{{3, 10.0}, {7, 9.0}, {9, 11.0}}, {}, {}};
  const FinalComparison final_comparison =
      compare_finalists({{3, {}, true, false}, {7, {}, false, false}, {9, {}, false, false}}, pairs.compare());
  EXPECT_EQ(pairs.asked, (std::vector<std::pair<int, int>>{{3, 7}, {3, 9}}));
  EXPECT_EQ(final_comparison.finalists[0].difference.middle, 0);
  EXPECT_NEAR(final_comparison.finalists[1].difference.middle, -0.1, 1e-12);
  EXPECT_EQ(final_comparison.decision.winner, 1U);
}

TEST(FinalComparison, TheIncumbentLosesToWhatBeatsItTwice) {
  Pairs pairs{{{3, 10.0}, {7, 9.0}}, {}, {}};
  const FinalComparison final_comparison =
      compare_finalists({{3, {}, false, true}, {7, {}, false, false}}, pairs.compare());
  EXPECT_EQ(pairs.asked.size(), 3U);
  EXPECT_EQ(final_comparison.decision.winner, 1U);
  EXPECT_STREQ(final_comparison.decision.why, "faster");
}

TEST(FinalComparison, TheIncumbentStaysWhereItIsBeatenOnce) {
  Pairs pairs{{{3, 10.0}, {7, 9.0}}, {}, {{7, 10.0}}};
  const FinalComparison final_comparison =
      compare_finalists({{3, {}, false, true}, {7, {}, false, false}}, pairs.compare());
  EXPECT_EQ(final_comparison.decision.winner, 0U);
  EXPECT_STREQ(final_comparison.decision.why, "incumbent");
  EXPECT_EQ(final_comparison.decision.rivals, (std::vector<std::size_t>{1}));
}

TEST(FinalComparison, OneAloneWins) {
  Pairs pairs{{{3, 10.0}}, {}, {}};
  const FinalComparison final_comparison = compare_finalists({{3, {}, true, true}}, pairs.compare());
  EXPECT_TRUE(pairs.asked.empty());
  EXPECT_EQ(final_comparison.decision.winner, 0U);
}

}  // namespace
}  // namespace quern
