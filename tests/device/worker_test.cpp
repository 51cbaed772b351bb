// Candidates that hang, crash or are never compiled, in workers.
#include "quern/worker.h"
#include "tuner/worker/remote.h"

#include <sys/types.h>

#include <chrono>
#include <thread>

#include "base/text.h"
#include "support/device.h"
#include "support/flawed/flawed.h"

namespace quern {
namespace {

using test::Flaw;
using namespace std::chrono_literals;

constexpr const char* kProblem = "flawed rows=33 width=100";

std::string config(Flaw flaw) { return cat("flaw=", static_cast<int>(flaw)); }

class WorkerTest : public test::DeviceTest {
 protected:
  WorkerSettings settings() const {
    WorkerSettings settings = worker_of("/proc/self/exe", test::cache_of_this_program(), {});
    settings.evaluate_limit = 20s;
    settings.compile_limit = 30s;
    return settings;
  }
  static OpenMessage opening() {
    OpenMessage open;
    open.device = test::on_host() ? "host" : "cuda:0";
    open.problem = kProblem;
    open.regime = "cold";
    return open;
  }
  CompileMessage compiling(Flaw flaw) const {
    const Device device = describe_device(driver(), 0);
    return {kProblem, device.target.text(), model_of(device).name, config(flaw)};
  }
  static void expect(const SweepTrial& trial, FailureKind kind) {
    ASSERT_TRUE(trial.failure);
    EXPECT_EQ(*trial.failure, kind) << trial.why;
    EXPECT_FALSE(trial.why.empty());
  }
};

TEST_F(WorkerTest, AnswersAsAnEvaluatorHereWould) {
  RemoteEvaluator evaluator(settings(), opening());
  EXPECT_EQ(evaluator.facts().device, describe_device(driver(), 0).name);
  EXPECT_EQ(evaluator.facts().bytes, 33 * 100 * 8);
  const SweepTrial trial = evaluator.evaluate(config(Flaw::none), 0);
  EXPECT_FALSE(trial.failure) << trial.why;
  EXPECT_GT(trial.us, 0);
  expect(evaluator.evaluate(config(Flaw::nan), 0), FailureKind::wrong);
  expect(evaluator.evaluate(config(Flaw::compile_error), 0), FailureKind::compile);
  EXPECT_EQ(evaluator.rounds(config(Flaw::none), "threads=128", 2).size(), 2U);
  EXPECT_THROW(evaluator.evaluate("no_such=1", 0), Error);
  EXPECT_FALSE(evaluator.evaluate("threads=128", 0).failure);
}

TEST_F(WorkerTest, AHangCostsItsTimeAndItself) {
  WorkerSettings settings = this->settings();
  settings.evaluate_limit = 5s;
  RemoteEvaluator evaluator(settings, opening());
  EXPECT_FALSE(evaluator.evaluate(config(Flaw::none), 0).failure);
  expect(evaluator.evaluate(config(Flaw::endless), 0), FailureKind::timeout);
  EXPECT_FALSE(evaluator.evaluate(config(Flaw::none), 0).failure);
}

TEST_F(WorkerTest, ACrashCostsItsWorker) {
  RemoteEvaluator evaluator(settings(), opening());
  for (int i = 0; i < 2; ++i) {
    expect(evaluator.evaluate(config(Flaw::address), 0), FailureKind::crash);
    const SweepTrial next = evaluator.evaluate(config(Flaw::none), 0);
    EXPECT_FALSE(next.failure) << next.why;
  }
}

TEST_F(WorkerTest, AWorkerThatOpensNothingSaysWhy) {
  OpenMessage open = opening();
  open.problem = "flawed width=100";
  RemoteEvaluator evaluator(settings(), open);
  try {
    evaluator.facts();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_NE(error.sentence.find("rows is open"), std::string::npos) << error.sentence;
  }
}

TEST_F(WorkerTest, AProgramThatIsNoneIsNamed) {
  WorkerSettings settings = this->settings();
  settings.program = "/no/such/program";
  try {
    RemoteEvaluator(settings, opening()).facts();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.sentence.find("/no/such/program"), std::string::npos) << error.sentence;
  }
  settings.program = "/bin/true";
  EXPECT_THROW(RemoteEvaluator(settings, opening()).facts(), Error);
}

TEST_F(WorkerTest, CompilesForOthers) {
  RemoteCompiler compiler(settings());
  const CompileOutcome made = compiler.compile(compiling(Flaw::none));
  ASSERT_TRUE(made.image) << made.why;
  EXPECT_EQ(made.image->digest.size(), 32U);
  EXPECT_EQ(compiler.compile(compiling(Flaw::none)).image->digest, made.image->digest);
  EXPECT_NE(compiler.compile(compiling(Flaw::slow)).image->digest, made.image->digest);
  const CompileOutcome refused = compiler.compile(compiling(Flaw::compile_error));
  EXPECT_FALSE(refused.image);
  EXPECT_EQ(refused.failure, FailureKind::compile);
}

TEST_F(WorkerTest, ACompileThatDoesNotEndIsEnded) {
  WorkerSettings settings = this->settings();
  settings.compile_limit = 6s;
  RemoteCompiler compiler(settings);
  ASSERT_TRUE(compiler.compile(compiling(Flaw::none)).image);
  const CompileOutcome outcome = compiler.compile(compiling(Flaw::compile_time));
  EXPECT_FALSE(outcome.image);
  EXPECT_EQ(outcome.failure, FailureKind::compile_timeout) << outcome.why;
  EXPECT_TRUE(compiler.compile(compiling(Flaw::slow)).image);
}

}  // namespace
}  // namespace quern
