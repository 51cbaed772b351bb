#include "tuner/search/evidence.h"

#include <cmath>

namespace quern {
namespace {

constexpr double kGain = 0.005;    // smaller gains are noise
constexpr int kFloor = 100;        // trials without a gain, at least
constexpr double kPatience = 1.0;  // plus this multiple of the trials that it took to reach the best

}  // namespace

void Evidence::add(const Trial& trial) {
  ++trials_;
  if (!(trial.us < best_us_ * (1 - kGain))) return;
  best_us_ = trial.us;
  last_gain_ = trials_;
}

// There is no evidence while every trial has failed.
bool Evidence::enough() const {
  return std::isfinite(best_us_) && trials_ - last_gain_ >= kFloor + kPatience * last_gain_;
}

}  // namespace quern
