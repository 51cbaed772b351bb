#include "api/application_tuner.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "api/images.h"
#include "api/prepare.h"
#include "api/runtime_state.h"
#include "base/program.h"
#include "base/text.h"
#include "driver/capture_mode.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFreeShare = 0.05;    // of the free memory, if no limit is given
constexpr double kSearchShare = 0.75;  // of the time: the rest is for the finalists
constexpr unsigned kMostJobs = 8;      // compiles at a time

// The memory limit in bytes: the caller's, else a share of the current device's free memory. At least 1.
std::int64_t memory_for(const RuntimeState& state, const Driver& driver) {
  std::size_t free = 0;
  std::size_t total = 0;
  driver->MemGetInfo(&free, &total);
  const auto share = static_cast<std::uint64_t>(static_cast<double>(free) * kFreeShare);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(
      std::clamp(state.options.tuning.memory_bytes.value_or(share), std::uint64_t{1}, kMost));
}

std::string worker_name(const Options& options) {
  return options.tuning.worker.empty() ? "quern" : options.tuning.worker;
}

// The common part of both modes: the Tuner with the Runtime's settings that it needs.
class TunerOfRuntime {
 public:
  explicit TunerOfRuntime(RuntimeState& state)
      : state_(state), tuner_(state.options.tuning.tuner), worker_(find_worker(state.options, state.environment)) {}

  // The tuning task: problem and time limit; the caller adds the memory limit. `problem` must outlive it.
  TuningTask task(const Family& family, const void* problem, const Device& device) {
    TuningTask task;
    task.family = &family;
    task.problem = problem;
    task.device = device.ordinal;
    task.options = state_.options;
    task.options.compiler.nvrtc = state_.compiler.nvrtc().path();
    task.options.cache.directory = state_.store.directory();
    task.worker = worker_;
    task.memory_bytes = memory_for(state_, *state_.driver());
    task.key_of = [this, &family, problem, device](const std::string& config) {
      const Step& step = family.steps[0];
      const auto variants = variants_of(family, step, problem, device.target, model_of(device), config);
      return key_of_image(state_, {&family, &step, problem, device.target, variants.front()}).path();
    };
    const std::lock_guard lock(state_.families_mutex);
    for (const auto& [name, known] : state_.families) task.families.push_back(known);
    return task;
  }

  // Called before a task is made, since making one looks for NVRTC.
  bool can_tune(const Family& family, const void* problem) {
    return open_extents(family, problem).empty() && family.steps.count == 1 && is_usable();
  }

  std::optional<TunedConfig> tune(const TuningTask& task) {
    auto tuned = tuner_->tune(task);
    if (tuned && tuned->swept) ++state_.sweeps;
    return tuned;
  }

 private:
  // Whether tuning is possible now; each reason against it is logged as one warning.
  bool is_usable() {
    const std::string why = why_not();
    if (!why.empty()) warn_once(cat("nothing is tuned: ", why, ", or QUERN_TUNE=lookup"));
    return why.empty();
  }
  std::string why_not() {
    const std::string name = worker_name(state_.options);
    if (worker_.empty())
      return cat("there is no worker: ", name, " cannot be run",
                 name.find('/') == std::string::npos ? " or is not in PATH" : "",
                 "; set QUERN_WORKER to the path of the quern command");
    std::string why = *state_.options.cache.mode != CacheMode::read_write
                          ? "the cache is read-only or off (QUERN_CACHE)"
                          : state_.store.unusable();
    return why.empty() ? why : cat(why, "; workers share images in a directory that they may write (QUERN_CACHE_DIR)");
  }
  void warn_once(const std::string& sentence) {
    {
      const std::lock_guard lock(mutex_);
      if (!warned_.insert(sentence).second) return;
    }
    state_.log.warning(sentence);
  }

  RuntimeState& state_;
  const std::shared_ptr<Tuner> tuner_;
  const std::string worker_;  // the program; empty: there is none
  std::mutex mutex_;
  std::set<std::string> warned_;
};

// ---- on prepare

class TunesOnPrepare : public ApplicationTuner {
 public:
  explicit TunesOnPrepare(RuntimeState& state) : state_(state), tuner_(state) {}

  std::optional<TunedConfig> before_plan(const Family& family, const void* problem, const Device& device) override {
    if (!tuner_.can_tune(family, problem)) return std::nullopt;
    const double seconds = *state_.options.tuning.seconds;
    const auto until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    TuningTask task = tuner_.task(family, problem, device);
    task.seconds = kSearchShare * seconds;
    task.jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostJobs));
    task.stop = [until] { return Clock::now() >= until; };
    auto tuned = tuner_.tune(task);
    if (!tuned && task.stop())
      state_.log.warning(cat(problem_text(family, problem), " was not tuned within ", fixed(seconds, 1),
                             " s; give it longer with QUERN_TUNE_SECONDS, or tune it ahead with `quern tune`"));
    return tuned;
  }
  void after_plan(const std::shared_ptr<const PlanState>&, const Context&) override {}

 private:
  RuntimeState& state_;
  TunerOfRuntime tuner_;
};

// ---- in the background

// Makes a context current in this thread while it exists, if it is the device's primary one: the owner of another
// context could destroy it, not knowing that this thread uses it. Never creates a context.
class BorrowedContext {
 public:
  BorrowedContext(const Driver& driver, const Context& wanted) {
    CUdevice device = 0;
    unsigned flags = 0;
    int active = 0;
    driver.check(driver->DeviceGet(&device, wanted.device), Stage::tool, "cuDeviceGet");
    driver.check(driver->DevicePrimaryCtxGetState(device, &flags, &active), Stage::tool, "cuDevicePrimaryCtxGetState");
    if (active == 0) return;
    primary_.emplace(driver, wanted.device);
    is_wanted_ = current_context_id(driver) == wanted.id;
  }
  bool is_wanted() const { return is_wanted_; }

 private:
  std::optional<PrimaryContext> primary_;
  bool is_wanted_ = false;
};

// Only as far as the driver reports it: for streams that synchronize with the legacy one.
bool capturing(const Driver& driver, CUcontext context) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!driver.may_release() || driver->CtxSetCurrent(context) != CUDA_SUCCESS) return false;
  return driver->StreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

class TunesInBackground : public ApplicationTuner {
 public:
  explicit TunesInBackground(RuntimeState& state) : state_(state), tuner_(state) {}

  // In a forked child the thread does not exist; the queue is leaked there, since destroying its condition variable
  // could block on the missing thread.
  ~TunesInBackground() override {
    if (queue_->process != 0 && queue_->process != getpid()) {
      static_cast<void>(queue_.release());
      return;
    }
    {
      const std::lock_guard lock(queue_->mutex);
      queue_->ending = true;
    }
    queue_->changed.notify_all();
    if (queue_->thread.joinable()) queue_->thread.join();
  }

  std::optional<TunedConfig> before_plan(const Family&, const void*, const Device&) override { return std::nullopt; }

  void after_plan(const std::shared_ptr<const PlanState>& plan, const Context& context) override {
    if (!tuner_.can_tune(*plan->family, plan->problem.data())) return;
    const std::lock_guard lock(queue_->mutex);
    queue_->jobs.push_back({plan, context});
    if (!queue_->thread.joinable()) start();
    queue_->changed.notify_all();
  }

 private:
  struct Job {
    std::shared_ptr<const PlanState> plan;
    Context context;
  };
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> ending{false};
    std::deque<Job> jobs;
    pid_t process = 0;  // the process that has the thread
    std::thread thread;
  };

  void start() {
    try {
      queue_->thread = std::thread([this] { work(); });
      queue_->process = getpid();
    } catch (const std::system_error& error) {
      state_.log.warning(cat("nothing is tuned in the background: no thread could be started: ", error.what()));
    }
  }

  void work() {
    std::unique_lock lock(queue_->mutex);
    for (;;) {
      queue_->changed.wait(lock, [this] { return queue_->ending || !queue_->jobs.empty(); });
      if (queue_->ending) return;
      const Job job = std::move(queue_->jobs.front());
      queue_->jobs.pop_front();
      lock.unlock();
      try {
        improve(job);
      } catch (const std::exception& error) {
        state_.log.warning(cat("not tuned: ", error.what()));
      }
      lock.lock();
    }
  }

  bool over(const Driver& driver) const { return queue_->ending || !driver.may_release(); }

  void improve(const Job& job) {
    const PlanState& plan = *job.plan;
    const Driver& driver = *plan.driver;
    if (over(driver)) return;
    const RelaxedCaptureMode relaxed(driver);
    const BorrowedContext context(driver, job.context);
    if (!context.is_wanted())
      return state_.log.info(cat(plan.text, " is not tuned: its context is not the device's primary one"));
    TuningTask task = tuner_.task(*plan.family, plan.problem.data(), describe_device(driver, plan.device));
    task.share = *state_.options.tuning.share;
    task.hold = [&driver, &job] { return capturing(driver, job.context.handle); };
    task.stop = [this, &driver] { return over(driver); };
    const auto tuned = tuner_.tune(task);
    if (tuned) launch_instead(job, *tuned);
  }

  void launch_instead(const Job& job, const TunedConfig& tuned) {
    const PlanState& plan = *job.plan;
    const auto better = make_better(job, tuned);
    if (better->images.front().config == plan.images.front().config) return;
    plan.better.set(better);
    ++state_.better_plans;
    state_.log.info(cat(plan.text, ": ", tuned.from, "; launched from now on: ", better->images.front().config));
  }

  std::shared_ptr<const PlanState> make_better(const Job& job, const TunedConfig& tuned) {
    PrepareOptions options;
    options.config = tuned.config;
    return make_plan(state_, *job.plan->family, job.plan->problem.data(), job.context, options, tuned.from);
  }

  RuntimeState& state_;
  TunerOfRuntime tuner_;
  std::unique_ptr<Queue> queue_ = std::make_unique<Queue>();
};

}  // namespace

std::string find_worker(const Options& options, const Environment& environment) {
  return find_program(worker_name(options), environment[Variable::path]);
}

std::unique_ptr<ApplicationTuner> make_application_tuner(RuntimeState& state) {
  const Tuning mode = *state.options.tuning.mode;
  if (mode != Tuning::on_prepare && mode != Tuning::background) return nullptr;
  if (!state.options.tuning.tuner) {
    state.log.warning(cat("nothing is tuned: QUERN_TUNE=", name(mode),
                          " needs a tuner, and this program was built without: link quern::tuner and set "
                          "Options::tuning.tuner to quern::make_tuner(), or set QUERN_TUNE=lookup"));
    return nullptr;
  }
  if (mode == Tuning::on_prepare) return std::make_unique<TunesOnPrepare>(state);
  return std::make_unique<TunesInBackground>(state);
}

}  // namespace quern
