// The backend of a sweep: a pipeline of compilers, which work ahead, and evaluators, one per device, each on its own
// thread. An evaluator does not wait for a compile while there is a ready image that the search wants.
#ifndef QUERN_TUNER_WORKER_LIVE_BACKEND_H_
#define QUERN_TUNER_WORKER_LIVE_BACKEND_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "tuner/evaluate/evaluator.h"
#include "tuner/search/evidence.h"
#include "tuner/search/search.h"
#include "tuner/space/family_space.h"
#include "tuner/worker/remote.h"

namespace quern {

// Worker pool. Each worker is constructed on its own thread, and destroyed there.
struct WorkerPool {
  using Compile = std::function<CompileOutcome(const CompileMessage&)>;
  std::vector<std::function<std::unique_ptr<Evaluator>()>> evaluators;
  std::vector<std::function<Compile()>> compilers;
};

struct BackendSettings {
  DeviceModel model{};  // of the live device
  SweepBudget budget;   // 0: no limit
  bool stop_on_evidence = true;
  double seconds_before = 0;   // of the sweep before it was resumed
  std::function<bool()> stop;  // polled; true: start nothing more
};

// A request of the sweep to an evaluator: a comparison in pairs.
struct AskedComparison {
  int a = 0;
  int b = 0;
  int count = 0;
  bool taken = false;
  std::optional<std::vector<Round>> rounds;
  std::exception_ptr error;
};

class LiveBackend : public Backend {
 public:
  // `space` and `log` must outlive it. `finished` is called for each new trial, one call at a time.
  LiveBackend(const FamilySpace& space, const WorkerPool& pool, const BackendSettings& settings, const Log& log,
              std::function<void(const SweepTrial&)> finished);
  ~LiveBackend() override;  // stops the threads, and waits for their current work

  // The facts of the first evaluator that could open its device. Throws Error where none can.
  DeviceFacts facts();

  // Adds a trial that is already known, so that it is not measured again. Before the search.
  void know(const SweepTrial& trial);

  // Throws Error where no evaluator is left, or nothing can be compiled.
  std::optional<Trial> any_of(const std::vector<int>& candidates) override;

  // Waits for current measurements, and starts no more until the next request.
  void rest();

  // A and B in pairs on one device. REQUIRES: both have passed. Throws Error.
  std::vector<Round> compare(int a, int b, int count);

  // In the order in which they were measured, including those of before. Not during a search.
  const std::vector<SweepTrial>& trials() const { return trials_; }
  // Configs measured, including those of before, except those with the image and launch of another. Not during a
  // search.
  int evaluations() const { return evaluations_; }
  // Both, during a search; the threads wait for `see`.
  void look(const std::function<void(const std::vector<SweepTrial>&, int)>& see) const {
    const std::lock_guard lock(mutex_);
    see(trials_, evaluations_);
  }
  double seconds() const;
  // "evidence", "budget", "asked to", or "all measured".
  const char* stopped() const { return stopped_; }

 private:
  enum class State : std::uint8_t { unknown, compiling, ready, failed };
  struct Image {
    State state = State::unknown;
    CompileOutcome outcome;
  };
  struct Point {
    bool evaluating = false;
    bool done = false;
    double us = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void end();
  void compile_ahead(const std::function<WorkerPool::Compile()>& make);
  void evaluate(const std::function<std::unique_ptr<Evaluator>()>& make);
  void evaluate_points(Evaluator& evaluator);
  bool serve_comparison(Lock& lock, Evaluator& evaluator);
  bool stop_requested() const { return settings_.stop && settings_.stop(); }
  bool wants_to_stop();
  int image_to_compile() const;
  int point_to_evaluate() const;
  bool reuse_equal_launch(int point);
  std::string launch_key(int point) const;
  CompileMessage message_for(int point) const;
  void settle(int point, SweepTrial trial);
  void finish(int point, SweepTrial trial);
  void fail_image(int point);
  Image& image_of(int point) { return images_[static_cast<std::size_t>(space_.image(point))]; }
  const Image& image_of(int point) const { return images_[static_cast<std::size_t>(space_.image(point))]; }
  Point& at(int point) { return points_[static_cast<std::size_t>(point)]; }
  const Point& at(int point) const { return points_[static_cast<std::size_t>(point)]; }

  const FamilySpace& space_;
  const BackendSettings settings_;
  const Log& log_;
  const std::function<void(const SweepTrial&)> finished_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::vector<int> wanted_;  // the points that the search wants now, most wanted first
  bool asked_ = false;       // the search waits for one of them
  std::vector<Point> points_;
  std::vector<Image> images_;
  std::map<std::string, int> measured_;  // the first point with an image and launch
  std::vector<SweepTrial> trials_;
  Evidence evidence_;
  double best_us_ = 0;  // 0: none passed yet
  int evaluations_ = 0;
  const char* stopped_ = "all measured";
  std::optional<DeviceFacts> facts_;
  std::optional<AskedComparison> comparison_;
  const int ahead_;  // limit of images that wait for an evaluator
  int evaluators_left_;
  std::exception_ptr error_;  // of the last evaluator, or of a compiler
  std::vector<std::thread> threads_;
};

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_LIVE_BACKEND_H_
