#include "tuner/evaluate/recheck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "quern/families.h"
#include "tuner/evaluate/final_comparison.h"

namespace quern {
namespace {

AnyProblem gather(const char* width = "64") {
  AnyProblem problem(Gather::family());
  problem.set("rows", "64");
  problem.set("count", "64");
  problem.set("width", width);
  return problem;
}

// Times by point, with a scatter that cancels in the median; 10 us for a point that is not named.
class MadeUpEvaluator : public Evaluator {
 public:
  explicit MadeUpEvaluator(const FamilySpace& space) : space_(space) {}

  DeviceFacts facts() override { return {}; }
  SweepTrial evaluate(const std::string& config, double best_us) override {
    EXPECT_GT(best_us, 1e300) << "nothing may be given up early";
    const int point = point_of(config);
    evaluated.push_back(point);
    SweepTrial trial;
    if (failures.count(point) > 0) {
      trial.failure = failures[point];
      trial.why = "as asked for";
    } else {
      trial.us = us(point);
    }
    return trial;
  }
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override {
    EXPECT_EQ(count, kRounds);
    ++comparisons;
    std::vector<Round> rounds;
    for (int i = 0; i < count; ++i) {
      const double noise = 1 + scatter * (i % 3 - 1);
      const double time = us(point_of(b)) * noise;
      rounds.push_back({us(point_of(a)), time, time, us(point_of(a))});
    }
    return rounds;
  }

  std::map<int, double> times;
  std::map<int, FailureKind> failures;
  double scatter = 0.001;
  std::vector<int> evaluated;
  int comparisons = 0;

 private:
  int point_of(std::string config) const {
    std::replace(config.begin(), config.end(), ',', ' ');
    return space_.find(config);
  }
  double us(int point) const { return times.count(point) > 0 ? times.at(point) : 10; }
  const FamilySpace& space_;
};

class RecheckTest : public ::testing::Test {
 protected:
  static constexpr int kUsual = 4;
  static constexpr int kRecorded = 9;
  static constexpr int kRival = 30;

  Rechecked recheck(std::vector<int> rivals = {kRival}) {
    return quern::recheck(evaluator_, space_, {kRecorded, kUsual, std::move(rivals), 0});
  }
  Record record(const std::string& config) const {
    Record record;
    record.family = "gather";
    record.problem = gather().text();
    record.config = config;
    return record;
  }
  const FamilySpace space_{gather(), {90, "a"}};
  MadeUpEvaluator evaluator_{space_};
};

TEST_F(RecheckTest, TheBestHasNoRegret) {
  evaluator_.times = {{kRecorded, 8}, {kUsual, 9}};
  const Rechecked now = recheck();
  EXPECT_EQ(now.recorded.us, 8);
  EXPECT_EQ(now.recorded.config, space_.text(kRecorded));
  EXPECT_EQ(now.default_us, 9);
  ASSERT_TRUE(now.regret);
  EXPECT_EQ(now.regret->middle, 0);
  EXPECT_EQ(now.regret->high, 0);
  EXPECT_EQ(now.faster, "");
  EXPECT_EQ(evaluator_.evaluated, (std::vector<int>{kRecorded, kUsual, kRival}));
  EXPECT_EQ(evaluator_.comparisons, 2);
}

// 5 %: by 9.5 us instead of 10.
TEST_F(RecheckTest, ARivalThatIsFasterByFivePercentIsAFlip) {
  evaluator_.times = {{kRival, 9.5}};
  const Rechecked now = recheck();
  EXPECT_EQ(now.faster, space_.text(kRival));
  ASSERT_TRUE(now.regret);
  EXPECT_NEAR(now.regret->middle, 10 / 9.5 - 1, 1e-9);
  EXPECT_LT(now.regret->low, now.regret->middle);
  EXPECT_GT(now.regret->high, now.regret->middle);
  EXPECT_EQ(evaluator_.comparisons, 4) << "two, and two more of the incumbent against the challenger";
}

TEST_F(RecheckTest, WithinTheBandThereIsRegretButNoFlip) {
  evaluator_.times = {{kRival, 9.96}};
  const Rechecked now = recheck();
  EXPECT_EQ(now.faster, "");
  EXPECT_NEAR(now.regret->middle, 0.004, 1e-4);
}

TEST_F(RecheckTest, TheDefaultMayBeatTheRecordToo) {
  evaluator_.times = {{kUsual, 8}};
  EXPECT_EQ(recheck({}).faster, space_.text(kUsual));
}

TEST_F(RecheckTest, ARecordedConfigThatFailsIsComparedWithNothing) {
  evaluator_.failures = {{kRecorded, FailureKind::wrong}};
  const Rechecked now = recheck();
  EXPECT_EQ(now.recorded.failure, FailureKind::wrong);
  EXPECT_FALSE(now.regret);
  EXPECT_EQ(now.default_us, 10) << "the other times are there";
  EXPECT_EQ(evaluator_.comparisons, 0);
  EXPECT_EQ(now.faster, "");
}

TEST_F(RecheckTest, OthersThatFailAreNamedAndLeftOut) {
  evaluator_.failures = {{kRival, FailureKind::guards}, {kUsual, FailureKind::timeout}};
  const Rechecked now = recheck();
  ASSERT_EQ(now.failed.size(), 2U);
  EXPECT_EQ(now.failed[1].config, space_.text(kRival));
  EXPECT_EQ(now.default_us, 0);
  ASSERT_TRUE(now.regret);
  EXPECT_EQ(now.regret->high, 0) << "there is no other config";
}

TEST_F(RecheckTest, ARecordThatIsTheDefaultIsMeasuredOnce) {
  const Rechecked now = quern::recheck(evaluator_, space_, {kUsual, kUsual, {}, 0});
  EXPECT_EQ(evaluator_.evaluated, (std::vector<int>{kUsual}));
  EXPECT_EQ(now.default_us, 10);
  EXPECT_EQ(now.regret->middle, 0);
}

TEST_F(RecheckTest, ARecordsConfigsAreFoundHoweverTheyAreWritten) {
  Record written = record(space_.text(kRecorded));
  written.rivals = {{space_.option(kRival), 1}, {space_.text(kUsual), 1}, {space_.text(kRival), 1}, {"unroll=77", 1}};
  const RecheckPoints points = points_of(written, space_, kUsual);
  EXPECT_EQ(points.recorded, kRecorded);
  EXPECT_EQ(points.default_point, kUsual);
  EXPECT_EQ(points.rivals, (std::vector<int>{kRival}));
  EXPECT_EQ(points.lost_rivals, 1);
  EXPECT_EQ(points_of(record(""), space_, kUsual).recorded, kUsual)
      << "parameters that are not set are as in the default";
}

TEST_F(RecheckTest, AConfigThatIsNotLegalAnyMoreIsRefusedWithItsConstraint) {
  const FamilySpace odd(gather("63"), {90, "a"});
  try {
    points_of(record("vector=16"), odd, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_NE(error.sentence.find("not legal"), std::string::npos) << error.sentence;
  }
  EXPECT_THROW(points_of(record("frobs=1"), space_, kUsual), Error);
}

TEST_F(RecheckTest, SaysWhatWasOtherwise) {
  Record then = record("");
  const Family& family = Gather::family();
  EXPECT_TRUE(differences(then, family.steps[0], {"13.0", "nvrtc"}).empty()) << "unknown values are not a difference";
  then.driver = "12.8";
  then.compiler = "nvrtc 12.8";
  then.space_digest = space_digest(family.steps[0]);
  EXPECT_TRUE(differences(then, family.steps[0], {"12.8", ""}).empty());
  EXPECT_EQ(differences(then, family.steps[0], {"13.0", "nvrtc 13.0"}),
            (std::vector<std::string>{"driver 12.8 then, 13.0 now", "compiler nvrtc 12.8 then, nvrtc 13.0 now"}));
  then.space_digest = "0123";
  EXPECT_EQ(differences(then, family.steps[0], {}), (std::vector<std::string>{"made from another tuning space"}));
}

}  // namespace
}  // namespace quern
