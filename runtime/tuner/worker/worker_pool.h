// Who works in a sweep: workers, or evaluators and compilers in this process.
#ifndef QUERN_TUNER_WORKER_WORKER_POOL_H_
#define QUERN_TUNER_WORKER_WORKER_POOL_H_

#include <memory>
#include <string>
#include <vector>

#include "driver/device.h"
#include "quern/runtime.h"
#include "tuner/worker/live_backend.h"
#include "tuner/worker/throttle.h"

namespace quern {

struct WorkerPoolSettings {
  std::vector<std::string> devices;
  WorkerSettings worker;  // without a program all work is done in this process
  int jobs = 1;           // compilers
  Regime regime = Regime::cold;
  std::string trusted;
  std::int64_t memory_bytes = 0;
  Throttle throttle;  // of each evaluator
};

// `runtime` must outlive the pool.
WorkerPool make_worker_pool(const WorkerPoolSettings& settings, Runtime& runtime, const AnyProblem& problem);

// A device as a process sees it that makes no context there.
struct DevicePlace {
  Device device;
  DeviceModel model;  // the live figures
};
DevicePlace place_of(Runtime& runtime, const std::string& device);

// One evaluator on the first device, for whoever asks for one config after the other: the image is made first, by a
// compiler and within its limit. `runtime` must outlive it. Throws as the pool's members do.
std::unique_ptr<Evaluator> single_evaluator(const WorkerPoolSettings& settings, const DevicePlace& place,
                                            Runtime& runtime, const AnyProblem& problem);

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_WORKER_POOL_H_
