// The check on candidates that are wrong, each in a way of its own. What hangs or ends the process is for the tests of
// the worker.
#include "tuner/evaluate/correctness_check.h"

#include "base/text.h"
#include "support/device.h"
#include "support/flawed/flawed.h"
#include "tuner/evaluate/device_evaluator.h"

namespace quern {
namespace {

using test::Flaw;
using test::Flawed;

class CorrectnessCheckTest : public test::DeviceTest {
 protected:
  void SetUp() override {
    test::DeviceTest::SetUp();
    if (IsSkipped()) return;
    runtime().add(Flawed::family());
    // The check itself has to find it, not the host driver.
    if (test::on_host()) configure("check_bounds=0 check_initialized=0 check_races=0");
  }
  void TearDown() override {
    if (test::on_host()) configure("check_bounds=1 check_initialized=1 check_races=1");
  }
  void configure(const char* settings) { ASSERT_EQ(driver().host().Configure(settings), CUDA_SUCCESS); }

  static std::string config(Flaw flaw) { return cat("flaw=", static_cast<int>(flaw)); }
  std::optional<CheckFailure> check(Flaw flaw, const char* problem = "flawed rows=33 width=100") {
    CorrectnessCheck check(runtime(), driver(), runtime().parse(problem), "");
    return check.check(config(flaw));
  }
  void expect(Flaw flaw, FailureKind kind, const char* words, const char* problem = "flawed rows=33 width=100") {
    const auto failure = check(flaw, problem);
    ASSERT_TRUE(failure) << static_cast<int>(flaw);
    EXPECT_EQ(failure->kind, kind) << name(failure->kind) << ": " << failure->why;
    EXPECT_NE(failure->why.find(words), std::string::npos) << failure->why;
  }
};

TEST_F(CorrectnessCheckTest, ARightConfigPasses) {
  EXPECT_FALSE(check(Flaw::none));
  EXPECT_FALSE(check(Flaw::slow));
  EXPECT_FALSE(check(Flaw::none, "flawed rows=1 width=1"));
  EXPECT_FALSE(check(Flaw::none, "flawed rows=7 width=5 out_stride=9"));
}

TEST_F(CorrectnessCheckTest, FindsWhatIsWrongInTheLastTileOnly) {
  expect(Flaw::last_tile, FailureKind::wrong, "and should be");
}
TEST_F(CorrectnessCheckTest, FindsAWriteBehindTheEnd) {
  expect(Flaw::past_the_end, FailureKind::guards, "bytes after out");
}
TEST_F(CorrectnessCheckTest, FindsAReadOfWhatNobodyWrote) { expect(Flaw::uninitialized, FailureKind::wrong, "out["); }
TEST_F(CorrectnessCheckTest, FindsAnAdditionThatShouldBeAnAssignment) {
  expect(Flaw::accumulates, FailureKind::wrong, "out[");
}
TEST_F(CorrectnessCheckTest, FindsAResultThatChangesFromRunToRun) {
  expect(Flaw::unstable, FailureKind::unstable, "another run on the same data");
}
TEST_F(CorrectnessCheckTest, FindsANanInPlaceOfANumber) { expect(Flaw::nan, FailureKind::wrong, "is 0x7fc00000"); }
TEST_F(CorrectnessCheckTest, FindsAChangedInput) { expect(Flaw::input, FailureKind::inputs, "x[0, 0]"); }
TEST_F(CorrectnessCheckTest, FindsAWriteBetweenRows) {
  expect(Flaw::gap, FailureKind::wrong, "the gap after row 0 of out", "flawed rows=33 width=100 out_stride=101");
}
// The problem itself has even rows and finite numbers.
TEST_F(CorrectnessCheckTest, FindsWhatIsWrongForAnOddExtentOnly) {
  expect(Flaw::odd_rows, FailureKind::wrong, "[flawed rows=33]", "flawed rows=34 width=100");
}
TEST_F(CorrectnessCheckTest, FindsWhatIsWrongForInfinitiesAndNansOnly) {
  expect(Flaw::finite, FailureKind::wrong, "[flawed rows=33]", "flawed rows=34 width=100");
}
TEST_F(CorrectnessCheckTest, NamesALaunchThatFails) { expect(Flaw::launch, FailureKind::launch, "cuLaunchKernelEx"); }
TEST_F(CorrectnessCheckTest, NamesACompileThatFails) { expect(Flaw::compile_error, FailureKind::compile, "flawed.cu"); }

TEST_F(CorrectnessCheckTest, RefusesToTrustAWrongConfig) {
  const std::pair<Flaw, const char*> wrong[] = {{Flaw::nan, "itself wrong: out["},
                                                {Flaw::past_the_end, "itself wrong: it wrote to the bytes after out"}};
  for (const auto& [flaw, words] : wrong) {
    try {
      CorrectnessCheck check(runtime(), driver(), runtime().parse("flawed rows=33 width=100"), config(flaw));
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::unsupported);
      EXPECT_NE(error.sentence.find(words), std::string::npos) << error.sentence;
    }
  }
}

TEST_F(CorrectnessCheckTest, TheSmallProblemHasOddExtents) {
  const AnyProblem odd = odd_problem(runtime().parse("gather rows=65536 count=65536 width=7168 dtype=bf16"));
  EXPECT_EQ(odd.get("rows"), odd.get("count"));
  EXPECT_EQ(std::stoi(odd.get("rows")) % 2, 1);
  EXPECT_LT(odd.family().bytes(odd.data()), 8 << 20);
  EXPECT_EQ(odd_problem(runtime().parse("flawed rows=2 width=3")).get("rows"), "1");
}

// The sweep of a family that is cut into blocks ended before it began.
TEST_F(CorrectnessCheckTest, TheSmallProblemIsOneThatItsFamilyTakes) {
  EXPECT_EQ(odd_problem(runtime().parse("mxfp8 rows=8192 cols=5120 experts=8 direction=col")).get("rows"), "96");
  EXPECT_EQ(odd_problem(runtime().parse("mxfp8 rows=32 cols=64 direction=both")).get("rows"), "32");
  const AnyProblem row = odd_problem(runtime().parse("mxfp8 rows=8192 cols=5120"));
  EXPECT_EQ(std::stoi(row.get("rows")) % 2, 1) << "rows that nothing is cut into";
}

// Rows are neighbours in memory there, and no vector divides an odd number of them: the sweep ended with the first that
// should.
TEST_F(CorrectnessCheckTest, AConfigThatAnOddProblemHasNotIsExaminedOnAnother) {
  CorrectnessCheck check(runtime(), driver(), runtime().parse("mxfp8 rows=512 cols=96 source_order=rows"), "");
  for (const char* config :
       {"form=1,vector=16,unroll=1,threads=128,rows=16", "form=1,vector=2,unroll=1,threads=128,rows=32,stack=1"}) {
    const std::optional<CheckFailure> failure = check.check(config);
    EXPECT_FALSE(failure) << config << ": " << failure->why;
  }
}

// ---- the evaluator

class DeviceEvaluatorTest : public CorrectnessCheckTest {
 protected:
  DeviceEvaluator evaluator(const char* problem) {
    return {runtime(), options().driver, describe_device(driver(), 0), runtime().parse(problem), {}};
  }
};

TEST_F(DeviceEvaluatorTest, TimesWhatPasses) {
  DeviceEvaluator evaluator = this->evaluator("flawed rows=33 width=100");
  const SweepTrial trial = evaluator.evaluate(config(Flaw::none), 1e9);
  EXPECT_FALSE(trial.failure) << trial.why;
  EXPECT_GT(trial.us, 0);
  EXPECT_FALSE(trial.samples.empty());
  EXPECT_FALSE(trial.image.empty());
  EXPECT_EQ(evaluator.rounds(config(Flaw::none), "threads=128", 3).size(), 3U);
}

// By the scripted clock: 26400 bytes a call at 1000 a microsecond.
TEST_F(DeviceEvaluatorTest, AHopelessCandidateIsDroppedAfterThreeSamples) {
  if (!test::on_host()) GTEST_SKIP() << "of the host tier";
  configure("memory_rate=1000");
  DeviceEvaluator evaluator = this->evaluator("flawed rows=33 width=100");
  const SweepTrial trial = evaluator.evaluate(config(Flaw::none), 26.4 / 1.29);
  EXPECT_NEAR(trial.us, 26.4, 0.1);
  EXPECT_EQ(trial.samples.size(), 21U);
  EXPECT_EQ(evaluator.evaluate(config(Flaw::none), 26.4 / 1.31).samples.size(), 3U);
  configure("memory_rate=0");
}

TEST_F(DeviceEvaluatorTest, GoesOnBehindACandidateThatFails) {
  DeviceEvaluator evaluator = this->evaluator("flawed rows=33 width=100");
  for (const Flaw flaw : {Flaw::compile_error, Flaw::launch, Flaw::past_the_end, Flaw::input, Flaw::nan}) {
    const SweepTrial trial = evaluator.evaluate(config(flaw), 1e9);
    EXPECT_TRUE(trial.failure) << static_cast<int>(flaw);
    EXPECT_EQ(trial.us, 0);
    EXPECT_FALSE(evaluator.evaluate(config(Flaw::none), 1e9).failure) << static_cast<int>(flaw);
  }
}

TEST_F(DeviceEvaluatorTest, RefusesTooMuchLocalMemory) {
  if (test::on_host()) GTEST_SKIP() << "the host's compiler does not report local memory per thread";
  DeviceEvaluator evaluator = this->evaluator("flawed rows=33 width=100");
  const SweepTrial trial = evaluator.evaluate(config(Flaw::local_memory), 1e9);
  ASSERT_TRUE(trial.failure);
  EXPECT_EQ(*trial.failure, FailureKind::resources) << trial.why;
}

TEST_F(DeviceEvaluatorTest, EveryFamilysConfigsAgree) {
  for (const char* problem : {"gather rows=50 count=61 width=129 dtype=bf16 mode=report",
                              "gather rows=50 count=61 width=64 dtype=f32 out_stride=72",
                              "pointwise rows=37 width=72 op=add_mul_act activation=gelu dtype=bf16"}) {
    DeviceEvaluator evaluator = this->evaluator(problem);
    for (const char* change : {"", "threads=64", "unroll=1"}) {
      const SweepTrial trial = evaluator.evaluate(change, 1e9);
      EXPECT_FALSE(trial.failure) << problem << " " << change << ": " << trial.why;
    }
  }
}

TEST_F(DeviceEvaluatorTest, RefusesAnOpenProblemAndTooLittleMemory) {
  const auto sentence = [&](const char* problem, std::int64_t memory) {
    try {
      EvaluatorSettings settings;
      settings.memory_bytes = memory;
      DeviceEvaluator evaluator(runtime(), options().driver, describe_device(driver(), 0), runtime().parse(problem),
                                settings);
    } catch (const Error& error) {
      return error.sentence;
    }
    return std::string("none");
  };
  EXPECT_NE(sentence("flawed width=100", 0).find("rows is open"), std::string::npos);
  EXPECT_NE(sentence("flawed rows=4096 width=4096", 1 << 20).find("--memory"), std::string::npos);
}

}  // namespace
}  // namespace quern
