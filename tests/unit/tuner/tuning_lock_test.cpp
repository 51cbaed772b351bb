#include "tuner/sweep/tuning_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "support/scratch.h"

namespace quern {
namespace {

using namespace std::chrono_literals;

bool never() { return false; }

TEST(TuningLock, OneHoldsItAndTheOtherWaits) {
  const test::Scratch scratch;
  const std::string path = scratch / "sweeps/a.lock";
  auto first = std::make_unique<TuningLock>(real_file_system(), path, never);
  std::atomic<bool> there{false};
  std::atomic<int> looks{0};
  std::thread second([&] {
    const TuningLock lock(real_file_system(), path, [&] { return ++looks, false; });
    there = true;
  });
  while (looks < 3) std::this_thread::yield();
  EXPECT_FALSE(there);
  first.reset();
  second.join();
  EXPECT_TRUE(there);
}

TEST(TuningLock, WaitsNoLongerThanItIsWanted) {
  const test::Scratch scratch;
  const TuningLock first(real_file_system(), scratch / "a.lock", never);
  int looks = 0;
  const TuningLock second(real_file_system(), scratch / "a.lock", [&] { return ++looks > 3; });
  EXPECT_EQ(looks, 4);
  EXPECT_TRUE(first.held());
  EXPECT_FALSE(second.held());
}

TEST(TuningLock, AForkedChildDoesNotKeepIt) {
  const test::Scratch scratch;
  auto first = std::make_unique<TuningLock>(real_file_system(), scratch / "a.lock", never);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  first.reset();
  EXPECT_TRUE(TuningLock(real_file_system(), scratch / "a.lock", [] { return true; }).held());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(TuningLock, WithoutAFileNobodyWaits) {
  for (const char* path : {"", "/proc/none/a.lock"}) {
    const TuningLock first(real_file_system(), path, never);
    const TuningLock second(real_file_system(), path, never);
    EXPECT_TRUE(first.held() && second.held()) << path;
  }
}

}  // namespace
}  // namespace quern
