// An examiner that leaves the device to others for most of the time.
#ifndef QUERN_TUNER_PACE_H_
#define QUERN_TUNER_PACE_H_

#include <functional>
#include <memory>

#include "tuner/examiner.h"

namespace quern {

struct Pace {
  double share = 1;            // of the time in which it may be at work, in (0, 1]
  std::function<bool()> hold;  // nothing begins while this is true, where it is given
};

// After each answer it waits as long as the share asks for: an answer that took 10 ms at a share of 0.05 is followed by
// 190 ms of rest. Where there is nothing to wait for, `examiner` itself. Its calls throw Stopped when `stop` says so
// while they wait.
std::unique_ptr<Examiner> paced(std::unique_ptr<Examiner> examiner, const Pace& pace, std::function<bool()> stop);

}  // namespace quern

#endif  // QUERN_TUNER_PACE_H_
