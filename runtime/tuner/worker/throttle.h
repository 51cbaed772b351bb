// An evaluator that leaves the device to others for most of the time.
#ifndef QUERN_TUNER_WORKER_THROTTLE_H_
#define QUERN_TUNER_WORKER_THROTTLE_H_

#include <chrono>
#include <functional>
#include <memory>

#include "tuner/evaluate/evaluator.h"

namespace quern {

// Until when nothing begins.
using Rest = std::chrono::steady_clock::time_point;

struct Throttle {
  double share = 1;                                       // of the time in which it may be at work, from 0.001 to 1
  std::function<bool()> hold;                             // nothing begins while this is true, where it is given
  std::shared_ptr<Rest> rest = std::make_shared<Rest>();  // of all evaluators that share it; one at a time asks
};

// After each call it waits as long as the share asks for: one that took 10 ms at a share of 0.05 is followed by 190 ms
// of rest, whatever came of it, and by no more than an hour. Where there is nothing to wait for, `evaluator` itself.
// Its calls throw Stopped when `stop` says so while they wait.
std::unique_ptr<Evaluator> throttled(std::unique_ptr<Evaluator> evaluator, const Throttle& throttle,
                                     std::function<bool()> stop);

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_THROTTLE_H_
