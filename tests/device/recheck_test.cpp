// Rechecking records in workers, together with configs that are wrong, hang or crash.
#include "tuner/evaluate/recheck.h"

#include <algorithm>

#include "base/text.h"
#include "plan/variants.h"
#include "support/device.h"
#include "support/flawed/flawed.h"
#include "tuner/worker/worker_pool.h"

namespace quern {
namespace {

using test::Flaw;
using namespace std::chrono_literals;

std::string config_of(Flaw flaw) { return cat("flaw=", static_cast<int>(flaw), " threads=128"); }

class RecheckOnDevice : public test::DeviceTest {
 protected:
  void SetUp() override {
    test::DeviceTest::SetUp();
    if (!IsSkipped()) runtime().add(test::Flawed::family());
  }
  WorkerPoolSettings settings(const char* regime) const {
    WorkerPoolSettings settings;
    settings.devices = {test::on_host() ? "host" : "cuda:0"};
    settings.regime = parse_regime(regime);
    settings.worker = worker_of("/proc/self/exe", test::cache_of_this_program(), {});
    settings.worker.evaluate_limit = 8s;
    settings.worker.compile_limit = 15s;
    return settings;
  }
  Rechecked recheck(WorkerPoolSettings pool, Flaw recorded, std::initializer_list<Flaw> rivals) {
    const DevicePlace place = place_of(runtime(), pool.devices.front());
    const FamilySpace space(runtime().parse("flawed rows=33 width=100"), place.device.target);
    Record record;
    record.config = config_of(recorded);
    for (const Flaw rival : rivals) record.rivals.push_back({config_of(rival), 1});
    const int usual = space.find(
        variants_of(space.problem().family(), space.step(), space.problem().data(), space.target(), place.model, {})
            .front()
            .config);
    pool.trusted = space.option(usual);
    const auto evaluator = single_evaluator(pool, place, runtime(), space.problem());
    return quern::recheck(*evaluator, space, points_of(record, space, usual));
  }
  static bool has_failed(const Rechecked& now, Flaw flaw, FailureKind kind) {
    return std::any_of(now.failed.begin(), now.failed.end(), [&](const SweepTrial& trial) {
      return trial.config == config_of(flaw) && trial.failure == kind;
    });
  }
};

TEST_F(RecheckOnDevice, RivalsThatBreakTheirWorkerCostNoMoreThanThemselves) {
  const Rechecked now =
      recheck(settings("cold"), Flaw::none, {Flaw::address, Flaw::endless, Flaw::compile_error, Flaw::nan, Flaw::slow});
  EXPECT_FALSE(now.recorded.failure) << now.recorded.why;
  EXPECT_GT(now.recorded.us, 0);
  EXPECT_GT(now.default_us, 0);
  ASSERT_TRUE(now.regret);
  EXPECT_LE(now.regret->low, now.regret->middle);
  EXPECT_LE(now.regret->middle, now.regret->high);
  EXPECT_EQ(now.failed.size(), 4U);
  EXPECT_TRUE(has_failed(now, Flaw::address, FailureKind::crash));
  EXPECT_TRUE(has_failed(now, Flaw::endless, FailureKind::timeout));
  EXPECT_TRUE(has_failed(now, Flaw::compile_error, FailureKind::compile));
  EXPECT_TRUE(has_failed(now, Flaw::nan, FailureKind::wrong));
}

TEST_F(RecheckOnDevice, ARecordedConfigThatIsWrongByNowIsNamedByKind) {
  const Rechecked now = recheck(settings("warm"), Flaw::last_tile, {Flaw::slow});
  ASSERT_TRUE(now.recorded.failure);
  EXPECT_EQ(*now.recorded.failure, FailureKind::wrong) << now.recorded.why;
  EXPECT_GT(now.default_us, 0);
  EXPECT_FALSE(now.regret);
}

TEST_F(RecheckOnDevice, InThisProcessToo) {
  WorkerPoolSettings pool = settings("cold");
  pool.worker.program.clear();
  EXPECT_TRUE(recheck(pool, Flaw::none, {Flaw::slow}).regret);
}

}  // namespace
}  // namespace quern
