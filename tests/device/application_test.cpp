// Tuning inside of an application: on prepare, and in the background. What is measured is measured by this program as a
// worker; of a device's times nothing is expected but that 300 laps take longer than one.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "base/text.h"
#include "driver/stream.h"
#include "quern/tuner.h"
#include "support/counter/counter.h"
#include "support/device.h"

namespace quern {
namespace {

using test::Counter;
using test::CounterArgs;
using namespace std::chrono_literals;

constexpr std::int64_t kCount = 700;  // 300 laps of more take seconds on the host driver

class ApplicationTest : public test::DeviceTest {
 protected:
  // The setup of an application that tunes, with its own records.
  Options tuning(Tuning mode) {
    Options all = options();
    all.tuning.mode = mode;
    all.tuning.tuner = make_tuner();
    all.tuning.records = scratch_ / "records.jsonl";
    all.tuning.worker = "/proc/self/exe";
    all.tuning.seconds = 120;
    all.tuning.share = 1;
    all.tuning.memory_bytes = std::uint64_t{1} << 30;
    all.log.level = LogLevel::info;
    all.log.sink = [this](LogLevel level, std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_ += cat(level == LogLevel::warning ? "warning: " : "", line, "\n");
    };
    return all;
  }
  static void add_families(Runtime& runtime) { runtime.add(Counter::family()); }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  bool logged(const std::string& words) { return log().find(words) != std::string::npos; }
  int warnings() {
    const std::string all = log();
    int count = 0;
    for (std::size_t at = 0; (at = all.find("warning: ", at)) != std::string::npos; ++at) ++count;
    return count;
  }
  // Whether a sweep file has a config. A file that has just been created has no head yet.
  bool measured() const {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_ / "sweeps", none)) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);)
        if (line.find("\"config\":") != std::string::npos) return true;
    }
    return false;
  }
  static bool is_fast(const AnyPlan& plan) { return plan.images().front().config.find("laps=1 ") == 0; }
  static bool wait_for(const std::function<bool()>& done, std::chrono::seconds limit = 100s) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(2ms);
    return done();
  }

  const test::Scratch scratch_;

 private:
  std::mutex mutex_;
  std::string log_;
};

// The caller's own counts, on the device.
class Counts {
 public:
  Counts(const Driver& driver, std::int64_t count) : driver_(driver), values_(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i % 1000);
    driver.check(driver->MemAlloc(&memory_, bytes()), Stage::tool, "cuMemAlloc");
    driver.check(driver->MemcpyHtoD(memory_, values_.data(), bytes()), Stage::tool, "cuMemcpyHtoD");
  }
  ~Counts() { driver_->MemFree(memory_); }
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;

  CounterArgs args() const { return {reinterpret_cast<void*>(memory_), kCount}; }
  // Whether each is its initial value plus `more`, bit for bit.
  bool grew_by(int more) const {
    std::vector<float> now(values_.size());
    driver_.check(driver_->MemcpyDtoH(now.data(), memory_, bytes()), Stage::tool, "cuMemcpyDtoH");
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] != values_[i] + static_cast<float>(more)) return false;
    return true;
  }

 private:
  std::size_t bytes() const { return values_.size() * sizeof(float); }
  const Driver& driver_;
  std::vector<float> values_;
  CUdeviceptr memory_ = 0;
};

TEST_F(ApplicationTest, PrepareTunesAndRecordsAndLeavesTheCallersBuffersAlone) {
  const Counts counts(driver(), kCount);
  Runtime runtime(tuning(Tuning::on_prepare));
  add_families(runtime);
  const auto plan = runtime.prepare(Counter{kCount});
  EXPECT_TRUE(counts.grew_by(0));
  EXPECT_TRUE(is_fast(plan)) << plan.why() << log();
  EXPECT_NE(plan.why().find("faster than the default"), std::string::npos) << plan.why();
  EXPECT_EQ(runtime.statistics().tuning.sweeps, 1U);
  EXPECT_TRUE(logged("faster than the default") && !logged("no record fits")) << log();
  plan.launch(nullptr, counts.args());
  EXPECT_TRUE(counts.grew_by(1));
  runtime.prepare(Counter{kCount});
  EXPECT_EQ(runtime.statistics().tuning.sweeps, 1U) << "a known problem";
  EXPECT_EQ(warnings(), 0) << log();
}

// The next process: the record is there, and so is the image.
TEST_F(ApplicationTest, WithFullRecordsNothingIsMeasuredAndNothingCompiled) {
  {
    Runtime first(tuning(Tuning::on_prepare));
    add_families(first);
    first.prepare(Counter{kCount});
  }
  for (const Tuning mode : {Tuning::on_prepare, Tuning::background, Tuning::lookup}) {
    Runtime next(tuning(mode));
    add_families(next);
    const auto plan = next.prepare(Counter{kCount});
    EXPECT_TRUE(is_fast(plan)) << plan.why();
    EXPECT_NE(plan.why().find("(exact)"), std::string::npos) << plan.why();
    EXPECT_EQ(next.statistics().compiles.count, 0U);
    EXPECT_EQ(next.statistics().tuning.sweeps, 0U);
  }
}

TEST_F(ApplicationTest, RanksThatShareRecordsGetOneAnswer) {
  constexpr int kRanks = 3;
  std::vector<std::string> configs(kRanks);
  std::atomic<std::uint64_t> sweeps{0};
  std::vector<std::thread> ranks;
  for (std::string& config : configs)
    ranks.emplace_back([&] {
      const PrimaryContext context(driver(), 0);
      Runtime runtime(tuning(Tuning::on_prepare));
      add_families(runtime);
      config = runtime.prepare(Counter{kCount}).images().front().config;
      sweeps += runtime.statistics().tuning.sweeps;
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(sweeps, 1U) << log();
  for (const std::string& config : configs) EXPECT_EQ(config, configs.front());
}

TEST_F(ApplicationTest, TheBackgroundSwapsTheBetterPlanIn) {
  const Counts counts(driver(), kCount);
  Options all = tuning(Tuning::background);
  Runtime runtime(all);
  add_families(runtime);
  const auto plan = runtime.prepare(Counter{kCount});
  const Plan<Counter> copy = plan;
  plan.launch(nullptr, counts.args());
  EXPECT_TRUE(counts.grew_by(1));
  ASSERT_TRUE(wait_for([&] { return runtime.statistics().tuning.better_plans == 1; })) << log();
  EXPECT_TRUE(is_fast(plan)) << plan.why();
  EXPECT_TRUE(is_fast(copy));
  EXPECT_TRUE(is_fast(runtime.prepare(Counter{kCount})));
  copy.launch(nullptr, counts.args());
  EXPECT_TRUE(counts.grew_by(2));
  EXPECT_TRUE(logged("launched from now on: laps=1 ")) << log();
  EXPECT_EQ(warnings(), 0) << log();
}

// Launches continue while the pointer is swapped; each is counted once.
TEST_F(ApplicationTest, LaunchesGoOnWhileThePlanIsSwapped) {
  const Counts counts(driver(), kCount);
  Runtime runtime(tuning(Tuning::background));
  add_families(runtime);
  const auto plan = runtime.prepare(Counter{kCount});
  int launches = 0;
  const bool swapped = wait_for([&] {
    for (int i = 0; i < 4; ++i, ++launches) plan.launch(nullptr, counts.args());
    synchronize();
    return runtime.statistics().tuning.better_plans == 1;
  });
  EXPECT_TRUE(swapped) << log();
  EXPECT_TRUE(counts.grew_by(launches));
}

// The driver reports this stream's capture, so nothing is measured, and loading an image does not break the capture.
TEST_F(ApplicationTest, NothingIsMeasuredWhileAStreamIsCaptured) {
  const Counts counts(driver(), kCount);
  Options all = tuning(Tuning::background);
  static std::atomic<int> looks;
  static decltype(DriverTable::StreamIsCapturing) is_capturing;
  is_capturing = driver()->StreamIsCapturing;
  DriverTable table = *driver().operator->();
  table.StreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
    return ++looks, is_capturing(stream, status);
  };
  all.driver = std::make_shared<Driver>(table, driver().origin(), test::on_host() ? driver().host() : HostControls{});
  Runtime runtime(all);
  add_families(runtime);
  CUstream stream = nullptr;
  driver().check(driver()->StreamCreate(&stream, CU_STREAM_DEFAULT), Stage::tool, "cuStreamCreate");
  driver().check(driver()->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), Stage::tool, "begin");
  const auto plan = runtime.prepare(Counter{kCount});  // the tuner begins
  plan.launch(stream, counts.args());
  looks = 0;
  EXPECT_TRUE(wait_for([&] { return looks >= 10; })) << "the tuner wants to measure";
  EXPECT_FALSE(measured());
  CUgraph graph = nullptr;
  EXPECT_EQ(driver()->StreamEndCapture(stream, &graph), CUDA_SUCCESS);
  if (graph != nullptr) driver()->GraphDestroy(graph);
  driver()->StreamDestroy(stream);
  EXPECT_EQ(runtime.statistics().tuning.better_plans, 0U);
  EXPECT_TRUE(wait_for([&] { return runtime.statistics().tuning.better_plans == 1; })) << log();
  EXPECT_TRUE(measured());
}

// In a stream that does not wait for the legacy one; the driver does not report its capture.
TEST_F(ApplicationTest, ASwapDoesNotSpoilACaptureThatNobodyTellsOf) {
  const Counts counts(driver(), kCount);
  Runtime runtime(tuning(Tuning::background));
  add_families(runtime);
  const auto plan = runtime.prepare(Counter{kCount});
  const StreamOwner stream(driver());
  driver().check(driver()->StreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), Stage::tool, "begin");
  plan.launch(stream.get(), counts.args());
  EXPECT_TRUE(wait_for([&] { return runtime.statistics().tuning.better_plans == 1; })) << log();
  plan.launch(stream.get(), counts.args());
  CUgraph graph = nullptr;
  EXPECT_EQ(driver()->StreamEndCapture(stream.get(), &graph), CUDA_SUCCESS);
  if (graph != nullptr) driver()->GraphDestroy(graph);
}

// A Runtime that ends in the middle takes its worker with it.
TEST_F(ApplicationTest, EndsAtOnce) {
  Options all = tuning(Tuning::background);
  all.tuning.share = 0.001;  // resting, most of the time
  std::optional<Runtime> runtime(all);
  add_families(*runtime);
  runtime->prepare(Counter{kCount});
  EXPECT_TRUE(wait_for([&] { return logged("tuning counter"); }));
  const auto start = std::chrono::steady_clock::now();
  runtime.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 15s);
  EXPECT_FALSE(logged("launched from now on"));
}

TEST_F(ApplicationTest, WhatDoesNotEndInTimeIsLookedUp) {
  Options all = tuning(Tuning::on_prepare);
  all.tuning.seconds = 0.01;
  Runtime runtime(all);
  add_families(runtime);
  const auto plan = runtime.prepare(Counter{kCount});
  EXPECT_FALSE(is_fast(plan));
  EXPECT_TRUE(logged("QUERN_TUNE_SECONDS")) << log();
  EXPECT_EQ(runtime.statistics().tuning.sweeps, 0U);
}

TEST_F(ApplicationTest, MemoryThatItMayNotTakeIsNotTaken) {
  for (const std::uint64_t bytes : {0, 1000}) {
    Options all = tuning(Tuning::on_prepare);
    all.tuning.memory_bytes = bytes;
    Runtime runtime(all);
    add_families(runtime);
    EXPECT_FALSE(is_fast(runtime.prepare(Counter{kCount}))) << bytes;
    EXPECT_TRUE(logged("QUERN_TUNE_MEMORY")) << log();
    EXPECT_EQ(runtime.statistics().tuning.sweeps, 0U);
  }
}

// This process's images have line numbers, and a worker's do not: the image that passed would not be launched.
TEST_F(ApplicationTest, AnotherImageThanTheWorkersIsNotLaunched) {
  Options all = tuning(Tuning::on_prepare);
  all.compiler.lineinfo = true;
  Runtime runtime(all);
  add_families(runtime);
  EXPECT_FALSE(is_fast(runtime.prepare(Counter{kCount})));
  EXPECT_TRUE(logged("makes other images")) << log();
  EXPECT_EQ(runtime.statistics().tuning.sweeps, 0U);
  EXPECT_FALSE(std::ifstream(all.tuning.records).good()) << "no record of it";
}

// Two Runtimes may share a tuner: its result for one does not apply to another that makes other images.
TEST_F(ApplicationTest, ATunerOfTwoRuntimesKeepsTheirImagesApart) {
  Options all = tuning(Tuning::on_prepare);
  Runtime first(all);
  add_families(first);
  EXPECT_TRUE(is_fast(first.prepare(Counter{kCount})));
  all.tuning.records = scratch_ / "others.jsonl";
  Runtime second(all);
  add_families(second);
  EXPECT_TRUE(is_fast(second.prepare(Counter{kCount})));
  EXPECT_EQ(second.statistics().tuning.sweeps, 0U) << "it was tuned for the first";
  all.compiler.lineinfo = true;
  all.tuning.records = scratch_ / "third.jsonl";
  Runtime third(all);
  add_families(third);
  EXPECT_FALSE(is_fast(third.prepare(Counter{kCount})));
  EXPECT_TRUE(logged("makes other images")) << log();
}

TEST_F(ApplicationTest, WithoutAWorkerItLooksUpAndSaysSoOnce) {
  for (const Tuning mode : {Tuning::on_prepare, Tuning::background}) {
    const int before = warnings();
    Options all = tuning(mode);
    all.tuning.worker = scratch_ / "no-such-program";
    Runtime runtime(all);
    add_families(runtime);
    EXPECT_FALSE(is_fast(runtime.prepare(Counter{kCount})));
    runtime.prepare(Counter{kCount + 1});
    EXPECT_EQ(warnings(), before + 1) << log();
    EXPECT_TRUE(logged("no-such-program")) << log();
  }
}

// A program that is not a worker: the sweep ends, and prepare uses the default.
TEST_F(ApplicationTest, AWorkerThatIsNoneIsNamed) {
  Options all = tuning(Tuning::on_prepare);
  all.tuning.worker = "/bin/false";
  Runtime runtime(all);
  add_families(runtime);
  EXPECT_FALSE(is_fast(runtime.prepare(Counter{kCount})));
  EXPECT_TRUE(logged("/bin/false")) << log();
}

// Any program may be named; its answers are checked.
TEST_F(ApplicationTest, AWorkerThatSaysSomethingElseIsNamed) {
  const std::pair<const char*, const char*> programs[] = {
      {"echo hello; sleep 20", "before it calls serve_worker"},
      {"while read question; do echo '{\"rounds\":[]}'; done", "sent an answer of the wrong kind"},
  };
  for (const auto& [script, words] : programs) {
    Options all = tuning(Tuning::on_prepare);
    all.tuning.worker = scratch_ / cat("worker-", std::string(words).size());
    std::ofstream(all.tuning.worker) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(all.tuning.worker, std::filesystem::perms::owner_all);
    Runtime runtime(all);
    add_families(runtime);
    EXPECT_FALSE(is_fast(runtime.prepare(Counter{kCount})));
    EXPECT_TRUE(logged(words) && logged(all.tuning.worker)) << log();
  }
}

// The command found in PATH knows the builtin families.
TEST_F(ApplicationTest, AFamilyThatTheWorkerDoesNotKnowIsNamedOnce) {
  const std::string path = std::getenv("PATH");
  std::filesystem::create_symlink("/bin/true", scratch_ / "quern");
  ::setenv("PATH", cat(scratch_.path(), ":", path).c_str(), 1);
  Options all = tuning(Tuning::on_prepare);
  all.tuning.worker.clear();
  Runtime runtime(all);
  ::setenv("PATH", path.c_str(), 1);
  add_families(runtime);
  for (const std::int64_t count : {kCount, kCount + 1}) EXPECT_FALSE(is_fast(runtime.prepare(Counter{count})));
  EXPECT_TRUE(logged("does not know the family counter")) << log();
  EXPECT_EQ(warnings(), 1) << log();
}

TEST_F(ApplicationTest, ProblemsWithOpenExtentsAreLookedUp) {
  Runtime runtime(tuning(Tuning::on_prepare));
  add_families(runtime);
  EXPECT_FALSE(is_fast(runtime.prepare(Counter{})));
  EXPECT_EQ(runtime.statistics().tuning.sweeps, 0U);
  EXPECT_EQ(warnings(), 0) << log();
}

}  // namespace
}  // namespace quern
