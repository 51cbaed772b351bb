// Plans in forked children and in static objects.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "quern/tuner.h"
#include "unit/api/support.h"

namespace quern::test {
namespace {

using Process = ApiTest;

TEST_F(Process, AForkedChildMayNotPrepare) {
  Runtime runtime(options());
  runtime.prepare(Gather{});
  const int before = driver_calls();
  for (const Gather& problem : {Gather{}, Gather{.dtype = f32}}) {
    EXPECT_EQ(in_child([&] {
                const auto refused = runtime.try_prepare(problem);
                if (refused) return 1;
                if (!has(refused.error().sentence, "forked")) return 2;
                return driver_calls() == before ? 0 : 3;
              }),
              0);
  }
}

TEST_F(Process, AForkedChildMayNotLaunch) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{});
  const int before = driver_calls();
  EXPECT_EQ(in_child([&] {
              GatherArgs args;
              args.source = args.index = reinterpret_cast<const void*>(0x10000);
              args.out = reinterpret_cast<void*>(0x20000);
              args.count = 3;
              const auto refused = plan.try_launch(nullptr, args);
              if (refused) return 1;
              if (!has(refused.error().sentence, "forked")) return 2;
              return driver_calls() == before ? 0 : 3;
            }),
            0);
}

TEST_F(Process, TrimInAForkedChildLeavesTheDriverAlone) {
  Runtime runtime(options());
  runtime.prepare(Gather{});
  const int before = driver_calls();
  EXPECT_EQ(in_child([&] {
              runtime.trim();
              return driver_calls() == before && runtime.statistics().held.plans == 0 ? 0 : 1;
            }),
            0);
}

TEST_F(Process, APlanThatDiesInAForkedChildLeavesTheDriverAlone) {
  std::optional<Runtime> runtime(options());
  std::optional<Plan<Gather>> plan(runtime->prepare(Gather{}));
  const int before = driver_calls();
  EXPECT_EQ(in_child([&] {
              plan.reset();
              runtime.reset();
              return driver_calls() == before ? 0 : 1;
            }),
            0);
  EXPECT_EQ(null_driver().unloads, 0);
}

// The child does not have the background tuning thread, and must not wait for its locks.
TEST_F(Process, ARuntimeThatTunesMayEndInAForkedChild) {
  Options tuning = options(scratch_ / "cache");
  tuning.tuning.mode = Tuning::background;
  tuning.tuning.tuner = make_tuner();
  tuning.tuning.worker = "/bin/true";
  tuning.log.level = LogLevel::info;
  std::optional<Runtime> runtime(tuning);
  runtime->prepare(Gather{.rows = 8, .count = 8, .width = 8});
  const auto idle = [&] { return log_.count(LogLevel::info, "not the device's primary one") == 1; };
  for (int i = 0; i < 2000 && !idle(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(idle()) << log_.all();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(in_child([&] {
              ::alarm(30);
              runtime.reset();
              return 0;
            }),
            0);
}

TEST_F(Process, AChildThatOpensTheDriverItselfMayPrepare) {
  Runtime runtime(options());
  runtime.prepare(Gather{});
  EXPECT_EQ(in_child([&] {
              Options own = options();
              own.cache.directory = scratch_ / "cache";
              Runtime mine(own);
              return mine.try_prepare(Gather{.width = 3, .dtype = DType::c128}) ? 0 : 1;
            }),
            0);
}

TEST_F(Process, ALaunchWhileTheProcessEndsDoesNothingAndSaysSoWhenTried) {
  Runtime runtime(options());
  const auto plan = runtime.prepare(Gather{});
  GatherArgs args;
  args.source = args.index = reinterpret_cast<const void*>(0x10000);
  args.out = reinterpret_cast<void*>(0x20000);
  args.count = 3;
  EXPECT_THROW(plan.launch(nullptr, GatherArgs{}), Error) << "no other refusal is silent";
  null_driver().ended = true;
  EXPECT_NO_THROW(plan.launch(nullptr, args));
  EXPECT_EQ(null_driver().launches, 0);
  const auto refused = plan.try_launch(nullptr, args);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().driver_code, CUDA_ERROR_DEINITIALIZED);
  EXPECT_TRUE(has(refused.error().sentence, "the process is ending")) << refused.error().sentence;
  const auto unprepared = runtime.try_prepare(Gather{.dtype = f32});
  ASSERT_FALSE(unprepared);
  EXPECT_EQ(unprepared.error().driver_code, CUDA_ERROR_DEINITIALIZED);
  EXPECT_FALSE(has(unprepared.error().sentence, "forked")) << unprepared.error().sentence;
}

// The plan of a program whose statics are destroyed at exit: runs this test in a separate process.
constexpr const char* kInside = "QUERN_TEST_STATICS";
std::optional<Runtime> static_runtime;
Plan<Gather> static_plan;
int calls_in_main = 0;

void be_that_program(const Options& options) {
  // The handler registered first is called last: after all static objects are destroyed.
  std::atexit([] { _exit(driver_calls() == calls_in_main && calls_in_main > 0 ? 0 : 42); });
  static_runtime.emplace(options);
  static_plan = static_runtime->prepare(Gather{});
  calls_in_main = driver_calls();
}

TEST_F(Process, StaticObjectsMakeNoDriverCallAtExit) {
  if (std::getenv(kInside) != nullptr) return be_that_program(options());
  EXPECT_EQ(in_child([] {
              ::setenv(kInside, "1", 1);
              execl("/proc/self/exe", "quern_unit", "--gtest_filter=Process.StaticObjects*", "--gtest_brief=1",
                    nullptr);
              return 127;
            }),
            0);
}

}  // namespace
}  // namespace quern::test
