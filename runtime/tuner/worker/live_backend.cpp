#include "tuner/worker/live_backend.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "plan/plan_state.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern {
namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();

}  // namespace

LiveBackend::LiveBackend(const FamilySpace& space, const WorkerPool& pool, const BackendSettings& settings,
                         const Log& log, std::function<void(const SweepTrial&)> finished)
    : space_(space),
      settings_(settings),
      log_(log),
      finished_(std::move(finished)),
      points_(static_cast<std::size_t>(space.size())),
      images_(static_cast<std::size_t>(space.images())),
      ahead_(static_cast<int>(2 * pool.compilers.size() + pool.evaluators.size())),
      evaluators_left_(static_cast<int>(pool.evaluators.size())) {
  try {
    for (const auto& make : pool.compilers) threads_.emplace_back([this, make] { compile_ahead(make); });
    for (const auto& make : pool.evaluators) threads_.emplace_back([this, make] { evaluate(make); });
  } catch (...) {  // as many threads as there may be run already
    end();
    throw;
  }
}

LiveBackend::~LiveBackend() { end(); }

void LiveBackend::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

double LiveBackend::seconds() const {
  return settings_.seconds_before + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

DeviceFacts LiveBackend::facts() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return facts_ || evaluators_left_ == 0; });
  if (!facts_) std::rethrow_exception(error_);
  return *facts_;
}

void LiveBackend::know(const SweepTrial& trial) {
  const int point = space_.find(trial.config);
  const std::lock_guard lock(mutex_);
  if (point >= 0 && !at(point).done) settle(point, trial);
}

// ---- the search's side

bool LiveBackend::wants_to_stop() {
  const SweepBudget& budget = settings_.budget;
  const bool spent = (budget.evaluations > 0 && evaluations_ >= budget.evaluations) ||
                     (budget.seconds > 0 && seconds() >= budget.seconds);
  const bool enough = settings_.stop_on_evidence && evidence_.enough();
  const bool requested = stop_requested();
  if (requested || spent || enough) stopped_ = requested ? "asked to" : spent ? "budget" : "evidence";
  return requested || spent || enough;
}

std::optional<Trial> LiveBackend::any_of(const std::vector<int>& candidates) {
  Lock lock(mutex_);
  if (wants_to_stop()) return std::nullopt;
  wanted_ = candidates;
  asked_ = true;
  changed_.notify_all();
  for (;;) {
    for (const int point : candidates) {
      if (!at(point).done) continue;
      asked_ = false;
      return Trial{point, at(point).us};
    }
    if (stop_requested()) return std::nullopt;
    if (error_ && evaluators_left_ == 0) std::rethrow_exception(error_);
    settings_.stop ? void(changed_.wait_for(lock, kPollInterval)) : changed_.wait(lock);
  }
}

void LiveBackend::rest() {
  Lock lock(mutex_);
  wanted_.clear();
  const auto busy = [](const Point& point) { return point.evaluating && !point.done; };
  changed_.wait(lock, [&] { return evaluators_left_ == 0 || std::none_of(points_.begin(), points_.end(), busy); });
}

std::vector<Round> LiveBackend::compare(int a, int b, int count) {
  Lock lock(mutex_);
  wanted_.clear();
  comparison_.emplace();
  comparison_->a = a;
  comparison_->b = b;
  comparison_->count = count;
  changed_.notify_all();
  changed_.wait(lock, [this] { return comparison_->rounds || comparison_->error || evaluators_left_ == 0; });
  const AskedComparison done = *std::exchange(comparison_, std::nullopt);
  if (done.rounds) return *done.rounds;
  std::rethrow_exception(done.error ? done.error : error_);
}

// ---- what is known of a point

// The image and the launch geometry decide a launch. Points that have both in common are measured once.
std::string LiveBackend::launch_key(int point) const {
  const AnyProblem& problem = space_.problem();
  AnyArgs args(problem.family());
  args.set_extents(problem.data());
  Launch launch{};  // what the family does not set is 0
  space_.step().launch(problem.data(), args.data(), settings_.model, space_.config(point), launch);
  std::string key = image_of(point).outcome.image->digest;
  for (const std::uint32_t number : {launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
                                     launch.block[2], launch.shared_bytes})
    key += cat(" ", number);
  return cat(key, " ", to_hex(launch.params, sizeof(launch.params)));
}

bool LiveBackend::reuse_equal_launch(int point) {
  const auto [found, first] = measured_.emplace(launch_key(point), point);
  if (first || found->second == point || !at(found->second).done) return false;
  for (const SweepTrial& trial : trials_) {
    if (trial.config != space_.text(found->second)) continue;
    SweepTrial equal = trial;
    equal.same_as = trial.same_as.empty() ? trial.config : trial.same_as;
    finish(point, std::move(equal));
    return true;
  }
  return false;
}

void LiveBackend::settle(int point, SweepTrial trial) {
  asked_ = false;  // the search may want other points now
  at(point).done = true;
  at(point).us = trial.failure ? kFailed : trial.us;
  if (trial.same_as.empty()) ++evaluations_;
  evidence_.add({point, at(point).us});
  if (!trial.failure && (best_us_ == 0 || trial.us < best_us_)) best_us_ = trial.us;
  trials_.push_back(std::move(trial));
  changed_.notify_all();
}

void LiveBackend::finish(int point, SweepTrial trial) {
  trial.config = space_.text(point);
  trial.at_s = seconds();
  settle(point, std::move(trial));
  finished_(trials_.back());
}

// ---- compiling

CompileMessage LiveBackend::message_for(int point) const {
  return {space_.problem().text(), space_.target().text(), settings_.model.name, space_.option(point)};
}

// The first wanted point whose image is not being compiled, -1 for none. Also -1 while enough images wait for an
// evaluator: a search that finds something better wants others.
int LiveBackend::image_to_compile() const {
  int waiting = 0;
  for (const int point : wanted_) {
    if (at(point).done) continue;
    const State state = image_of(point).state;
    if (state == State::ready && ++waiting >= ahead_) return -1;
    if (state == State::unknown) return point;
  }
  return -1;
}

// Fails every wanted point that has this image.
void LiveBackend::fail_image(int point) {
  const CompileOutcome& outcome = image_of(point).outcome;
  for (const int other : std::vector<int>(wanted_)) {
    if (at(other).done || space_.image(other) != space_.image(point)) continue;
    SweepTrial trial;
    trial.failure = outcome.failure;
    trial.why = outcome.why;
    finish(other, std::move(trial));
  }
}

void LiveBackend::compile_ahead(const std::function<WorkerPool::Compile()>& make) {
  Lock lock(mutex_);
  try {
    lock.unlock();
    const WorkerPool::Compile compile = make();
    lock.lock();
    for (;;) {
      int point = -1;
      changed_.wait(lock, [&] { return ending_ || (point = image_to_compile()) >= 0; });
      if (ending_) return;
      image_of(point).state = State::compiling;
      const CompileMessage message = message_for(point);
      lock.unlock();
      CompileOutcome outcome = compile(message);
      lock.lock();
      image_of(point).outcome = std::move(outcome);
      image_of(point).state = image_of(point).outcome.image ? State::ready : State::failed;
      changed_.notify_all();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    error_ = std::current_exception();
    evaluators_left_ = 0;  // without images there is nothing to evaluate
    changed_.notify_all();
  }
}

// ---- evaluating

// The first wanted point whose image is ready, -1 for none.
int LiveBackend::point_to_evaluate() const {
  if (!asked_) return -1;
  for (const int point : wanted_) {
    const State state = image_of(point).state;
    if (!at(point).done && !at(point).evaluating && (state == State::ready || state == State::failed)) return point;
  }
  return -1;
}

bool LiveBackend::serve_comparison(Lock& lock, Evaluator& evaluator) {
  if (!comparison_ || comparison_->taken) return false;
  comparison_->taken = true;
  const AskedComparison asked = *comparison_;
  lock.unlock();
  std::optional<std::vector<Round>> rounds;
  std::exception_ptr error;
  try {
    rounds = evaluator.rounds(space_.option(asked.a), space_.option(asked.b), asked.count);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  comparison_->rounds = std::move(rounds);
  comparison_->error = error;
  changed_.notify_all();
  return true;
}

void LiveBackend::evaluate_points(Evaluator& evaluator) {
  Lock lock(mutex_);
  for (;;) {
    int point = -1;
    changed_.wait(
        lock, [&] { return ending_ || (comparison_ && !comparison_->taken) || (point = point_to_evaluate()) >= 0; });
    if (ending_) return;
    if (serve_comparison(lock, evaluator)) continue;
    if (image_of(point).state == State::failed) {
      fail_image(point);
      continue;
    }
    if (reuse_equal_launch(point)) continue;
    at(point).evaluating = true;
    const double best_us = best_us_ > 0 ? best_us_ : kFailed;
    lock.unlock();
    SweepTrial trial;
    try {
      trial = evaluator.evaluate(space_.option(point), best_us);
    } catch (...) {
      lock.lock();
      at(point).evaluating = false;  // another evaluator may take it
      throw;
    }
    lock.lock();
    trial.compile_ms = image_of(point).outcome.image->compile_ms;
    trial.digest = image_of(point).outcome.image->digest;
    finish(point, std::move(trial));
  }
}

void LiveBackend::evaluate(const std::function<std::unique_ptr<Evaluator>()>& make) {
  try {
    const std::unique_ptr<Evaluator> evaluator = make();
    const DeviceFacts facts = evaluator->facts();
    {
      const std::lock_guard lock(mutex_);
      if (!facts_) facts_ = facts;
    }
    changed_.notify_all();
    evaluate_points(*evaluator);
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    evaluators_left_ = std::max(0, evaluators_left_ - 1);
    // The error of the last evaluator is the sweep's.
    if (evaluators_left_ > 0 && !stop_requested())
      log_.warning(cat("the sweep continues without a device: ", error.what()));
    changed_.notify_all();
  }
}

}  // namespace quern
