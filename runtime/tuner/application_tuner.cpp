// The two modes in which an application tunes. No candidate runs in its process: what is done here is asking workers,
// waiting for them, and in the background mode making the better plan.
#include "api/application_tuner.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>

#include "api/prepare.h"
#include "api/runtime_state.h"
#include "base/text.h"
#include "plan/problem.h"
#include "tuner/problem_tuner.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{1};  // at whether a capture is over
constexpr double kFreeShare = 0.05;                    // of the free memory, where nobody says how much
constexpr double kSearchShare = 0.75;                  // of the time: the rest is for the finalists
constexpr unsigned kMostJobs = 8;                      // compiles at a time

// Of the current context's device. Where the driver does not say what is free, next to nothing: 0 would mean half of
// it.
std::int64_t memory_for(const RuntimeState& state, const Driver& driver) {
  if (state.options.tuning_memory) return static_cast<std::int64_t>(*state.options.tuning_memory);
  std::size_t free = 0;
  std::size_t total = 0;
  driver->MemGetInfo(&free, &total);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(free) * kFreeShare));
}

// ---- on prepare

class TunesOnPrepare : public ApplicationTuner {
 public:
  explicit TunesOnPrepare(RuntimeState& state) : state_(state), tuner_(state) {}

  std::optional<TunedConfig> before_plan(const Family& family, const void* problem, const Device& device) override {
    const double seconds = *state_.options.tuning_seconds;
    const auto until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    TuningLimits limits;
    limits.memory_bytes = memory_for(state_, *state_.driver());
    limits.seconds = kSearchShare * seconds;
    limits.jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostJobs));
    limits.stop = [until] { return Clock::now() >= until; };
    auto tuned = tuner_.tune(AnyProblem(family, problem), device, limits);
    if (!tuned && limits.stop())
      state_.log.warning(cat(problem_text(family, problem), " was not tuned within ", fixed(seconds, 1),
                             " s; give it longer with QUERN_TUNE_SECONDS, or tune it ahead with `quern tune`"));
    return tuned;
  }
  void after_plan(const std::shared_ptr<const PlanState>&, const Context&) override {}

 private:
  RuntimeState& state_;
  ProblemTuner tuner_;
};

// ---- in the background

// Makes a context current here for as long as it lives, provided that it is the device's primary one: another could be
// destroyed under a thread that its owner does not know of.
class BorrowedContext {
 public:
  BorrowedContext(const Driver& driver, const Context& wanted)
      : primary_(driver, wanted.device), is_wanted_(current_context_id(driver) == wanted.id) {}
  bool is_wanted() const { return is_wanted_; }

 private:
  PrimaryContext primary_;
  bool is_wanted_;
};

// Captures of other threads forbid this thread no call from here on, and none of its calls makes them invalid.
void leave_captures_alone(const Driver& driver) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver.check(driver->ThreadExchangeStreamCaptureMode(&mode), Stage::tool, "cuThreadExchangeStreamCaptureMode");
}

// As far as the driver tells: of streams that wait for the legacy one.
bool capturing(const Driver& driver, CUcontext context) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver->CtxSetCurrent(context) != CUDA_SUCCESS) return false;
  return driver->StreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

class TunesInBackground : public ApplicationTuner {
 public:
  explicit TunesInBackground(RuntimeState& state) : state_(state), tuner_(state) {}
  ~TunesInBackground() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    if (!thread_.joinable()) return;
    if (getpid() == process_)
      thread_.join();
    else
      thread_.detach();  // it stayed in the process that this one was forked from
  }

  std::optional<TunedConfig> before_plan(const Family&, const void*, const Device&) override { return std::nullopt; }

  void after_plan(const std::shared_ptr<const PlanState>& plan, const Context& context) override {
    if (!open_extents(*plan->family, plan->problem.data()).empty() || !tuner_.unusable().empty()) return;
    const std::lock_guard lock(mutex_);
    jobs_.push_back({plan, context});
    if (!thread_.joinable()) start();
    changed_.notify_all();
  }

 private:
  struct Job {
    std::shared_ptr<const PlanState> plan;
    Context context;
  };

  void start() {
    try {
      process_ = getpid();
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& error) {
      state_.log.warning(cat("nothing is tuned in the background: no thread could be started: ", error.what()));
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      try {
        improve(job);
      } catch (const std::exception& error) {
        state_.log.warning(cat("not tuned: ", error.what()));
      }
      lock.lock();
    }
  }

  void improve(const Job& job) {
    const PlanState& plan = *job.plan;
    const Driver& driver = *plan.driver;
    leave_captures_alone(driver);
    const BorrowedContext context(driver, job.context);
    if (!context.is_wanted())
      return state_.log.info(cat(plan.text, " is not tuned: its context is not the device's primary one"));
    const Device device = describe_device(driver, plan.device);
    const AnyProblem problem(*plan.family, plan.problem.data());
    const auto tuned = tuner_.tune(problem, device, limits(driver, job.context.handle));
    if (tuned) launch_instead(job, *tuned);
  }

  TuningLimits limits(const Driver& driver, CUcontext context) {
    TuningLimits limits;
    limits.memory_bytes = memory_for(state_, driver);
    limits.pace.share = *state_.options.tuning_share;
    limits.pace.hold = [&driver, context] { return capturing(driver, context); };
    limits.stop = [this, &driver] { return ending_ || !driver.alive(); };
    return limits;
  }

  void launch_instead(const Job& job, const TunedConfig& tuned) {
    const PlanState& plan = *job.plan;
    while (!ending_ && capturing(*plan.driver, job.context.handle)) std::this_thread::sleep_for(kBetweenLooks);
    PrepareOptions options;
    options.config = tuned.config;
    const auto better = make_plan(state_, *plan.family, plan.problem.data(), job.context, options, tuned.from);
    if (better->images.front().config == plan.images.front().config) return;
    plan.better.set(better);
    ++state_.better_plans;
    state_.log.info(cat(plan.text, ": ", tuned.from, "; launched from now on: ", better->images.front().config));
  }

  RuntimeState& state_;
  ProblemTuner tuner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ending_{false};
  std::deque<Job> jobs_;
  pid_t process_ = 0;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ApplicationTuner> make_application_tuner(RuntimeState& state) {
  if (*state.options.tuning == Tuning::on_prepare) return std::make_unique<TunesOnPrepare>(state);
  if (*state.options.tuning == Tuning::background) return std::make_unique<TunesInBackground>(state);
  return nullptr;
}

}  // namespace quern
