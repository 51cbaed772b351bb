// Whole sweeps: in this process, in workers, killed and gone on with.
#include "tuner/sweep/sweep.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "base/text.h"
#include "support/device.h"
#include "support/flawed/flawed.h"

namespace quern {
namespace {

using test::Flaw;
using namespace std::chrono_literals;

constexpr const char* kSweptProblem = "flawed rows=33 width=100";

class SweepTest : public test::DeviceTest {
 protected:
  void SetUp() override {
    test::DeviceTest::SetUp();
    if (!IsSkipped()) runtime().add(test::Flawed::family());
  }
  SweepSettings here() const {
    SweepSettings settings;
    settings.devices = {test::on_host() ? "host" : "cuda:0"};
    return settings;
  }
  SweepSettings in_workers() const {
    SweepSettings settings = here();
    settings.worker = worker_of("/proc/self/exe", test::cache_of_this_program(), {});
    settings.worker.evaluate_limit = 8s;
    settings.worker.compile_limit = 6s;  // two configs use it up; others take less than a second
    return settings;
  }
  Journal sweep(const char* problem, const SweepSettings& settings) {
    return quern::sweep(runtime(), runtime().parse(problem), settings,
                        [this](const SweepProgress& now) { last_ = now; });
  }
  static const SweepTrial& trial_of(const Journal& journal, Flaw flaw, int threads) {
    const std::string config = cat("flaw=", static_cast<int>(flaw), " threads=", threads);
    const auto found = std::find_if(journal.trials.begin(), journal.trials.end(),
                                    [&](const SweepTrial& trial) { return trial.config == config; });
    if (found == journal.trials.end()) throw std::runtime_error(config + " was not measured");
    return *found;
  }
  SweepProgress last_;
  const test::Scratch scratch_;
};

// Every flaw in one sweep: each is reported, none wins, and the sweep completes.
TEST_F(SweepTest, NamesEveryFlawAndGoesOn) {
  SweepSettings settings = in_workers();
  settings.strategy = "exhaustive";
  settings.stop_on_evidence = false;
  // With gaps between rows: without gaps, a config that writes into them is right, and may win.
  const Journal journal = sweep("flawed rows=33 width=100 out_stride=101", settings);
  const std::pair<Flaw, FailureKind> expected[] = {
      {Flaw::last_tile, FailureKind::wrong},
      {Flaw::accumulates, FailureKind::wrong},
      {Flaw::unstable, FailureKind::unstable},
      {Flaw::endless, FailureKind::timeout},
      {Flaw::address, FailureKind::crash},
      {Flaw::compile_time, FailureKind::compile_timeout},
      {Flaw::compile_error, FailureKind::compile},
      {Flaw::launch, FailureKind::launch},
      {Flaw::nan, FailureKind::wrong},
      {Flaw::input, FailureKind::inputs},
      {Flaw::gap, FailureKind::wrong},
      {Flaw::odd_rows, FailureKind::wrong},
      {Flaw::finite, FailureKind::wrong},
  };
  for (const auto& [flaw, kind] : expected) {
    const SweepTrial& trial = trial_of(journal, flaw, 128);
    ASSERT_TRUE(trial.failure) << trial.config;
    EXPECT_EQ(*trial.failure, kind) << trial.config << ": " << trial.why;
    EXPECT_FALSE(trial.why.empty());
  }
  EXPECT_TRUE(trial_of(journal, Flaw::past_the_end, 128).failure);
  EXPECT_TRUE(trial_of(journal, Flaw::uninitialized, 128).failure);
  EXPECT_FALSE(trial_of(journal, Flaw::none, 128).failure);
  ASSERT_TRUE(journal.result);
  EXPECT_TRUE(journal.complete());
  EXPECT_EQ(journal.trials.size(), 2 * static_cast<std::size_t>(Flaw::count));
  EXPECT_STREQ(journal.result->stopped.c_str(), "all measured");
  EXPECT_TRUE(journal.result->winner.starts_with("flaw=0 ") || journal.result->winner.starts_with("flaw=15 ") ||
              journal.result->winner.starts_with("flaw=8 "))
      << journal.result->winner;
}

TEST_F(SweepTest, SearchesAFamilyAndWritesItDown) {
  SweepSettings settings = here();
  settings.budget.evaluations = 12;
  settings.path = scratch_ / "sweep.jsonl";
  settings.seed = 3;
  const Journal journal = sweep("skeleton rows=40 width=64", settings);
  ASSERT_TRUE(journal.result);
  EXPECT_EQ(journal.result->evaluations, 12);
  EXPECT_STREQ(journal.result->stopped.c_str(), "budget");
  EXPECT_FALSE(journal.result->winner.empty());
  EXPECT_EQ(journal.trials.front().config, journal.head.default_config);
  EXPECT_EQ(last_.measured, 12);
  for (const SweepTrial& trial : journal.trials) EXPECT_FALSE(trial.failure) << trial.config << ": " << trial.why;
  const Journal read = read_journal_file(settings.path);
  EXPECT_EQ(read.trials, journal.trials);
  EXPECT_EQ(read.result->winner, journal.result->winner);
  EXPECT_EQ(read.head, journal.head);
}

// Killed at four fifths: nothing is measured twice.
TEST_F(SweepTest, GoesOnWhereItWasKilled) {
  SweepSettings settings = here();
  settings.budget.evaluations = 20;
  settings.path = scratch_ / "sweep.jsonl";
  const Journal whole = sweep("skeleton rows=40 width=64", settings);
  std::ifstream file(settings.path);
  std::string kept;
  std::set<std::string> before;
  std::string line;
  for (int i = 0; i < 1 + 16 && std::getline(file, line); ++i) {
    kept += line + "\n";
    if (i > 0) before.insert(line);
  }
  std::ofstream(settings.path) << kept << line.substr(0, line.size() / 2);
  const Journal resumed = sweep("skeleton rows=40 width=64", settings);
  EXPECT_EQ(last_.known, 16);
  EXPECT_EQ(resumed.result->evaluations, 20);
  std::set<std::string> configs;
  for (const SweepTrial& trial : resumed.trials)
    EXPECT_TRUE(configs.insert(trial.config).second) << trial.config << " was measured twice";
  for (std::size_t i = 0; i < 16; ++i) EXPECT_TRUE(before.count(serialize(resumed.trials[i]))) << i;
  EXPECT_EQ(read_journal_file(settings.path).trials.size(), resumed.trials.size());
}

TEST_F(SweepTest, RefusesAnotherSweepsFile) {
  SweepSettings settings = here();
  settings.budget.evaluations = 2;
  settings.path = scratch_ / "sweep.jsonl";
  sweep("skeleton rows=40 width=64", settings);
  try {
    sweep("skeleton rows=41 width=64", settings);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_NE(error.sentence.find("another sweep's"), std::string::npos) << error.sentence;
  }
}

// The file that `quern tune` names itself: it serves the next sweep, or is begun anew, and is never a stranger's. It
// has more trials than evaluations where images are equal, as a GPU's may be.
TEST_F(SweepTest, AFileOfItsOwnIsGoneOnWithOrBegunAnew) {
  SweepSettings settings = here();
  settings.path = scratch_ / "sweep.jsonl";
  settings.may_start_over = true;
  settings.budget.evaluations = 3;
  const Journal first = sweep("skeleton rows=40 width=64", settings);
  EXPECT_EQ(first.result->evaluations, 3);
  settings.budget.evaluations = 5;
  const Journal longer = sweep("skeleton rows=40 width=64", settings);
  EXPECT_EQ(last_.known, first.trials.size());
  EXPECT_EQ(longer.result->evaluations, 5);
  sweep("skeleton rows=40 width=64", settings);
  EXPECT_EQ(last_.known, 0) << "it had all that this budget allows";
  const Journal other = sweep("skeleton rows=41 width=64", settings);
  EXPECT_EQ(last_.known, 0);
  EXPECT_EQ(read_journal_file(settings.path).head, other.head);
  EXPECT_EQ(read_journal_file(settings.path).trials, other.trials);
}

// With one row every number of warps is the same launch.
TEST_F(SweepTest, TheIncumbentIsMeasuredFirstAndComparedLast) {
  SweepSettings settings = here();
  settings.strategy = "exhaustive";
  settings.budget.evaluations = 2;
  const std::string incumbent = "vector=16 unroll=4 warps=4 persistent=0";
  settings.incumbent = incumbent + " blocks_per_sm=0";  // as older records have it
  const Journal journal = sweep("skeleton rows=1 width=64", settings);
  ASSERT_TRUE(journal.result);
  ASSERT_GE(journal.trials.size(), 2U);
  EXPECT_EQ(journal.trials[1].config, incumbent);
  EXPECT_EQ(journal.trials[1].same_as, journal.head.default_config);
  EXPECT_TRUE(std::any_of(journal.finalists.begin(), journal.finalists.end(),
                          [&](const SweepFinalist& finalist) { return finalist.config == incumbent; }));
}

TEST_F(SweepTest, ADeviceThatGoesAwayLeavesTheOthers) {
  SweepSettings settings = in_workers();
  settings.devices.push_back("cuda:999");
  settings.strategy = "exhaustive";
  settings.budget.evaluations = 3;
  const Journal journal = sweep(kSweptProblem, settings);
  EXPECT_TRUE(journal.result);
  settings.devices = {settings.devices.front()};
  settings.worker.program = "/bin/false";
  EXPECT_THROW(sweep(kSweptProblem, settings), Error);
}

TEST_F(SweepTest, EqualImagesWithEqualLaunchesAreMeasuredOnce) {
  SweepSettings settings = here();
  settings.strategy = "exhaustive";
  settings.stop_on_evidence = false;
  // One row: fewer warps are launched than the config says, so these launches are the same.
  const Journal journal = sweep("skeleton rows=1 width=64", settings);
  int twins = 0;
  for (const SweepTrial& trial : journal.trials) twins += trial.same_as.empty() ? 0 : 1;
  EXPECT_EQ(journal.trials.size(), static_cast<std::size_t>(journal.head.points));
  EXPECT_EQ(journal.result->evaluations + twins, static_cast<int>(journal.trials.size()));
  EXPECT_GE(twins, static_cast<int>(journal.trials.size()) * 3 / 4);
}

}  // namespace
}  // namespace quern
