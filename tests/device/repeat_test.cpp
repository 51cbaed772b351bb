// Do sweeps of one problem agree? Twenty from empty records, each with a seed of its own, and twenty that go on from a
// record. On a GPU only: of times that scatter by half, as the host driver's do, nothing follows.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include "base/text.h"
#include "support/device.h"
#include "tuner/sweep/sweep.h"
#include "tuner/worker/worker_pool.h"

namespace quern {
namespace {

constexpr int kSweeps = 20;
constexpr int kRounds = 31;

class Repeat : public test::DeviceTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (test::on_host()) GTEST_SKIP() << "of the gpu tier";
    test::DeviceTest::SetUp();
  }
  SweepSettings settings() const {
    SweepSettings settings;
    settings.worker = worker_of("/proc/self/exe", test::cache_of_this_program(), {});
    settings.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return settings;
  }
  Journal sweep(const SweepSettings& settings) {
    return quern::sweep(runtime(), problem(), settings, [](const SweepProgress&) {});
  }
  AnyProblem problem() { return runtime().parse(GetParam()); }

  // The best of all configs, of those that were compared in pairs, and the sweep's seconds.
  std::string best_of_all() {
    SweepSettings all = settings();
    all.strategy = "exhaustive";
    all.stop_on_evidence = false;
    const Journal journal = sweep(all);
    std::printf("figures: %s: all %lld points in %.1f s, the best %s\n", GetParam(),
                static_cast<long long>(journal.head.points), journal.result->seconds,
                journal.finalists.front().config.c_str());
    return journal.finalists.front().config;
  }

  static std::string option(std::string config) {
    std::replace(config.begin(), config.end(), ' ', ',');
    return config;
  }

  // In percent of the best one's time, by interleaved pairs.
  double regret(const std::string& best, const std::string& config) {
    if (config == best) return 0;
    const SweepSettings with = settings();
    const auto pool = make_worker_pool({with.devices, with.worker, 1, with.regime, "", 0, {}}, runtime(), problem());
    const auto evaluator = pool.evaluators.front()();
    for (const std::string& each : {best, config}) evaluator->evaluate(option(each), 1e9);
    return 100 * paired_difference(evaluator->rounds(option(best), option(config), kRounds)).middle;
  }
};

TEST_P(Repeat, TwentySweepsFromEmptyRecordsAndTwentyFromOne) {
  const std::string best = best_of_all();
  std::map<std::string, int> winners;
  std::vector<std::string> each;
  double seconds = 0, evaluations = 0;
  for (int i = 1; i <= kSweeps; ++i) {
    SweepSettings with = settings();
    with.seed = static_cast<std::uint64_t>(i);
    const SweepResult result = *sweep(with).result;
    ++winners[result.winner];
    each.push_back(result.winner);
    seconds += result.seconds / kSweeps;
    evaluations += static_cast<double>(result.evaluations) / kSweeps;
  }
  std::map<std::string, double> regrets;
  for (const auto& [config, count] : winners) {
    regrets[config] = regret(best, config);
    std::printf("figures: %s: %d of %d sweeps chose %s, regret %.2f %%\n", GetParam(), count, kSweeps, config.c_str(),
                regrets[config]);
  }
  std::vector<double> all;
  for (const std::string& config : each) all.push_back(regrets[config]);
  std::sort(all.begin(), all.end());
  const double p95 = all[static_cast<std::size_t>(kSweeps * 95 / 100 - 1)];
  std::printf("figures: %s: %zu winners, regret p50 %.2f %% p95 %.2f %%, %.0f configs and %.1f s a sweep\n", GetParam(),
              winners.size(), all[kSweeps / 2], p95, evaluations, seconds);
  EXPECT_LE(winners.size(), 3U);
  EXPECT_LE(p95, 1.0);

  std::set<std::string> later;
  for (int i = 1; i <= kSweeps; ++i) {
    SweepSettings with = settings();
    with.seed = static_cast<std::uint64_t>(1000 + i);
    with.incumbent = each.front();
    later.insert(sweep(with).result->winner);
  }
  std::printf("figures: %s: from the record of %s, %d sweeps chose %zu\n", GetParam(), each.front().c_str(), kSweeps,
              later.size());
  EXPECT_EQ(later, std::set<std::string>{each.front()});
}

// Overhead of a worker: the same configs with all images cached, with a worker and without.
TEST_P(Repeat, AWorkerCostsLittle) {
  const auto seconds = [&](bool in_worker) {
    SweepSettings with = settings();
    if (!in_worker) with.worker = {};
    with.strategy = "random";
    with.stop_on_evidence = false;
    with.budget.evaluations = 150;
    const auto start = std::chrono::steady_clock::now();
    sweep(with);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(true);  // compiles
  const double there = seconds(true);
  const double here = seconds(false);
  std::printf("figures: %s: 150 configs in %.2f s with a worker, %.2f s without: %.2f times\n", GetParam(), there, here,
              there / here);
  EXPECT_LE(there, 1.5 * here) << "the bar of docs/tuned.md";
}

INSTANTIATE_TEST_SUITE_P(Device, Repeat,
                         ::testing::Values("gather rows=64 count=64 width=7168",
                                           "pointwise rows=4096 activation=silu"));

}  // namespace
}  // namespace quern
