// Throttle: an evaluator that leaves the device idle for most of the time.
#ifndef QUERN_TUNER_WORKER_THROTTLE_H_
#define QUERN_TUNER_WORKER_THROTTLE_H_

#include <chrono>
#include <functional>
#include <memory>

#include "tuner/evaluate/evaluator.h"

namespace quern {

// Nothing starts before this time.
using Rest = std::chrono::steady_clock::time_point;

struct Throttle {
  double share = 1;                                       // duty cycle, from 0.001 to 1
  std::function<bool()> hold;                             // if set: nothing starts while it returns true
  std::shared_ptr<Rest> rest = std::make_shared<Rest>();  // shared by evaluators; one call at a time
};

// After each call it waits as the share demands, one hour at most: a call of 10 ms at a share of 0.05 is followed by
// 190 ms of rest, whatever its result. Returns `evaluator` itself if there is nothing to wait for. Calls throw Stopped
// if `stop` returns true while they wait.
std::unique_ptr<Evaluator> throttled(std::unique_ptr<Evaluator> evaluator, const Throttle& throttle,
                                     std::function<bool()> stop);

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_THROTTLE_H_
