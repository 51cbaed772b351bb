#include "tuner/search/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/gunzip.h"
#include "unit/tuner/synthetic.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

SavedSpace line_of(const std::vector<double>& us) {
  SavedSpace saved{test::grid({static_cast<int>(us.size())}), us, {}, 0, 0};
  saved.best = static_cast<int>(std::min_element(us.begin(), us.end()) - us.begin());
  return saved;
}

TEST(Replay, CountsEvaluationsAndFailedOnesAmongThem) {
  // In canonical order: within 5 % at the 4th, within 1 % at the 6th.
  const ReplayScore score =
      replay(line_of({test::kFailed, 150, 106, 104, 103, 100.5, 100}), find_strategy("exhaustive").search, 3, 1);
  EXPECT_EQ(score.median_5, 4);
  EXPECT_EQ(score.p90_5, 4);
  EXPECT_EQ(score.median_1, 6);
  EXPECT_EQ(score.p90_1, 6);
  EXPECT_EQ(score.stop_evaluations, 7) << "the space ended first";
  EXPECT_EQ(score.stop_regret_p50, 0);
}

TEST(Replay, TheStopRuleIsScoredApart) {
  std::vector<double> us(5000, 120);
  us.back() = 100;
  const ReplayScore score = replay(line_of(us), find_strategy("exhaustive").search, 2, 1);
  EXPECT_EQ(score.median_1, 5000) << "the stop rule is off";
  EXPECT_LT(score.stop_evaluations, 1000);
  EXPECT_NEAR(score.stop_regret_p50, 20, 1e-9);
  EXPECT_NEAR(score.stop_regret_p90, 20, 1e-9);
}

TEST(Replay, BeginsWithTheDefaultConfig) {
  SavedSpace saved = line_of(std::vector<double>(100, 120));
  saved.us[70] = 100;
  saved.best = 70;
  saved.first = {70};
  EXPECT_EQ(replay(saved, find_strategy("random").search, 5, 1).p90_1, 1);
}

TEST(Replay, TakesMedianAndPercentileByNearestRank) {
  // A random order finds the one good point of ten after each of 1…10 evaluations equally often.
  std::vector<double> us(10, 120);
  us[3] = 100;
  const ReplayScore score = replay(line_of(us), find_strategy("random").search, 2001, 1);
  EXPECT_NEAR(score.median_1, 5.5, 0.6);
  EXPECT_NEAR(score.p90_1, 9, 1);
}

TEST(Replay, NeedsASeed) { EXPECT_THROW(replay(line_of({1}), find_strategy("ils").search, 0, 1), Error); }

TEST(Replay, MeansAreGeometricForEvaluations) {
  const ReplayScore mean = mean_score({{2, 4, 8, 16, 50, 0, 1}, {8, 16, 32, 64, 200, 2, 5}});
  EXPECT_NEAR(mean.median_5, 4, 1e-9);
  EXPECT_NEAR(mean.p90_5, 8, 1e-9);
  EXPECT_NEAR(mean.median_1, 16, 1e-9);
  EXPECT_NEAR(mean.p90_1, 32, 1e-9);
  EXPECT_NEAR(mean.stop_evaluations, 100, 1e-9);
  EXPECT_NEAR(mean.stop_regret_p50, 1, 1e-9);
  EXPECT_NEAR(mean.stop_regret_p90, 3, 1e-9);
}

std::vector<std::string> saved_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(QUERN_TESTS "/spaces")) {
    const std::string path = entry.path().string();
    if (path.ends_with(".jsonl.gz") || path.ends_with(".json.gz")) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The bar of the default strategy, with seeds that no figure of docs/search.md was made with.
TEST(Replay, TheDefaultStrategyMeetsTheBarOnTheSavedSpaces) {
  std::vector<ReplayScore> scores;
  for (const std::string& file : saved_files()) {
    const SavedSpace saved = read_saved_space(file, tool::read_text_file(file));
    scores.push_back(replay(saved, strategies().front().search, 40, 100000));
  }
  ASSERT_FALSE(scores.empty()) << "no saved space in " QUERN_TESTS "/spaces";
  const ReplayScore mean = mean_score(scores);
  EXPECT_LE(mean.median_5, 48);
  EXPECT_LE(mean.p90_5, 140);
  EXPECT_LE(mean.median_1, 91);
  EXPECT_LE(mean.p90_1, 255);
}

}  // namespace
}  // namespace quern
