#include "tuner/pace.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <type_traits>

#include "tuner/remote.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{20};  // at whether to stop, or to go on

// From its begin to its end somebody works.
class RestAfter {
 public:
  explicit RestAfter(const Pace& pace) : pace_(pace) {}
  ~RestAfter() {
    const std::chrono::duration<double> worked = Clock::now() - start_;
    const std::chrono::duration<double> rest = std::min(worked * (1 / pace_.share - 1), kLongest);
    *pace_.rest = Clock::now() + std::chrono::duration_cast<Clock::duration>(rest);
  }
  RestAfter(const RestAfter&) = delete;
  RestAfter& operator=(const RestAfter&) = delete;

 private:
  static constexpr std::chrono::duration<double> kLongest = std::chrono::hours(1);
  const Pace& pace_;
  const Clock::time_point start_ = Clock::now();
};

class Paced : public Examiner {
 public:
  Paced(std::unique_ptr<Examiner> examiner, const Pace& pace, std::function<bool()> stop)
      : examiner_(std::move(examiner)), pace_(pace), stop_(std::move(stop)) {}

  DeviceFacts facts() override {
    return at_pace([&] { return examiner_->facts(); });
  }
  SweepTrial examine(const std::string& config, double best_us) override {
    return at_pace([&] { return examiner_->examine(config, best_us); });
  }
  std::vector<Round> rounds(const std::string& a, const std::string& b, int count) override {
    return at_pace([&] { return examiner_->rounds(a, b, count); });
  }

 private:
  // The rest comes before the next call, so that nobody waits for what is known already.
  template <class Call>
  std::invoke_result_t<Call> at_pace(const Call& call) {
    wait_until([&] { return Clock::now() >= *pace_.rest; });
    wait_until([&] { return !pace_.hold || !pace_.hold(); });
    const RestAfter rest(pace_);
    return call();
  }

  template <class Done>
  void wait_until(const Done& done) const {
    for (;;) {
      if (stop_ && stop_()) throw Stopped();
      if (done()) return;
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>(*pace_.rest - Clock::now(), std::chrono::milliseconds{1}, kBetweenLooks));
    }
  }

  const std::unique_ptr<Examiner> examiner_;
  const Pace pace_;
  const std::function<bool()> stop_;
};

}  // namespace

std::unique_ptr<Examiner> paced(std::unique_ptr<Examiner> examiner, const Pace& pace, std::function<bool()> stop) {
  if (pace.share >= 1 && !pace.hold) return examiner;
  return std::make_unique<Paced>(std::move(examiner), pace, std::move(stop));
}

}  // namespace quern
