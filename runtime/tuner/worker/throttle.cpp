#include "tuner/worker/throttle.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <type_traits>

#include "tuner/worker/remote.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

// Measures the time of a call in its scope, and sets the rest that must follow.
class RestAfter {
 public:
  explicit RestAfter(const Throttle& throttle) : throttle_(throttle) {}
  ~RestAfter() {
    const std::chrono::duration<double> worked = Clock::now() - start_;
    const std::chrono::duration<double> rest = std::min(worked * (1 / throttle_.share - 1), kLongest);
    *throttle_.rest = Clock::now() + std::chrono::duration_cast<Clock::duration>(rest);
  }
  RestAfter(const RestAfter&) = delete;
  RestAfter& operator=(const RestAfter&) = delete;

 private:
  static constexpr std::chrono::duration<double> kLongest = std::chrono::hours(1);
  const Throttle& throttle_;
  const Clock::time_point start_ = Clock::now();
};

class Throttled : public Evaluator {
 public:
  Throttled(std::unique_ptr<Evaluator> evaluator, const Throttle& throttle, std::function<bool()> stop)
      : evaluator_(std::move(evaluator)), throttle_(throttle), stop_(std::move(stop)) {}

  DeviceFacts facts() override {
    return throttled_evaluator([&] { return evaluator_->facts(); });
  }
  SweepTrial evaluate(const std::string& config, double best_us) override {
    return throttled_evaluator([&] { return evaluator_->evaluate(config, best_us); });
  }
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override {
    return throttled_evaluator([&] { return evaluator_->rounds(a, b, count); });
  }

 private:
  // The rest comes before the next call, so that results are returned at once.
  template <class Call>
  std::invoke_result_t<Call> throttled_evaluator(const Call& call) {
    wait_until([&] { return Clock::now() >= *throttle_.rest; });
    wait_until([&] { return !throttle_.hold || !throttle_.hold(); });
    const RestAfter rest(throttle_);
    return call();
  }

  template <class Done>
  void wait_until(const Done& done) const {
    for (;;) {
      if (stop_ && stop_()) throw Stopped();
      if (done()) return;
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>(*throttle_.rest - Clock::now(), std::chrono::milliseconds{1}, kPollInterval));
    }
  }

  const std::unique_ptr<Evaluator> evaluator_;
  const Throttle throttle_;
  const std::function<bool()> stop_;
};

}  // namespace

std::unique_ptr<Evaluator> throttled(std::unique_ptr<Evaluator> evaluator, const Throttle& throttle,
                                     std::function<bool()> stop) {
  if (throttle.share >= 1 && !throttle.hold) return evaluator;
  return std::make_unique<Throttled>(std::move(evaluator), throttle, std::move(stop));
}

}  // namespace quern
