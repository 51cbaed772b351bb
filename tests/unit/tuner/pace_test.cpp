#include "tuner/worker/throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tuner/worker/remote.h"

namespace quern {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kWork = 10ms;

// Each call takes at least kWork.
class Busy : public Evaluator {
 public:
  explicit Busy(std::atomic<int>* calls) : calls_(calls) {}
  DeviceFacts facts() override { return work(), DeviceFacts{}; }
  SweepTrial evaluate(const std::string& config, double) override {
    work();
    SweepTrial trial;
    trial.config = config;
    return trial;
  }
  std::vector<Round> rounds(const std::string&, const std::string&, int count) override {
    work();
    return std::vector<Round>(static_cast<std::size_t>(count));
  }

 private:
  void work() {
    ++*calls_;
    std::this_thread::sleep_for(kWork);
  }
  std::atomic<int>* calls_;
};

Throttle throttle(double share, std::function<bool()> hold = {}) {
  Throttle all;
  all.share = share;
  all.hold = std::move(hold);
  return all;
}

TEST(Throttle, ATwentiethOfTheTimeMeansNineteenTimesAsMuchRest) {
  std::atomic<int> calls{0};
  const auto evaluator = throttled(std::make_unique<Busy>(&calls), throttle(0.05), {});
  const auto start = Clock::now();
  evaluator->facts();
  EXPECT_EQ(evaluator->evaluate("a=1", 0).config, "a=1");
  EXPECT_EQ(evaluator->rounds("a=1", "a=2", 3).size(), 3U);
  EXPECT_GE(Clock::now() - start, 2 * 20 * kWork + kWork);
  EXPECT_EQ(calls, 3);
}

// A thousand problems that cannot be measured must not keep the device busy all the time.
TEST(Throttle, OneSweepsRestIsTheNextOnesToo) {
  std::atomic<int> calls{0};
  const Throttle shared = throttle(0.1);
  const auto start = Clock::now();
  for (int i = 0; i < 3; ++i) throttled(std::make_unique<Busy>(&calls), shared, {})->facts();
  EXPECT_GE(Clock::now() - start, 2 * 10 * kWork + kWork);
}

TEST(Throttle, AtAWholeShareItIsTheEvaluatorItself) {
  std::atomic<int> calls{0};
  auto busy = std::make_unique<Busy>(&calls);
  const Evaluator* const itself = busy.get();
  EXPECT_EQ(throttled(std::move(busy), {}, {}).get(), itself);
}

TEST(Throttle, NothingBeginsWhileItIsHeld) {
  std::atomic<int> calls{0};
  std::atomic<bool> held{true};
  std::atomic<int> looks{0};
  const auto hold = [&] { return ++looks, held.load(); };
  const auto evaluator = throttled(std::make_unique<Busy>(&calls), throttle(1, hold), {});
  std::thread thread([&] { evaluator->facts(); });
  while (looks < 3) std::this_thread::yield();
  EXPECT_EQ(calls, 0);
  held = false;
  thread.join();
  EXPECT_EQ(calls, 1);
}

TEST(Throttle, AStopEndsTheRest) {
  std::atomic<int> calls{0};
  std::atomic<bool> stop{false};
  std::atomic<int> looks{0};
  const auto evaluator =
      throttled(std::make_unique<Busy>(&calls), throttle(0.001), [&] { return ++looks, stop.load(); });
  evaluator->facts();
  looks = 0;
  std::thread thread([&] { EXPECT_THROW(evaluator->facts(), Stopped); });
  while (looks < 2) std::this_thread::yield();
  stop = true;
  thread.join();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace quern
