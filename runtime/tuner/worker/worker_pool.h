// Worker pool of a sweep: worker processes, or evaluators and compilers in this process.
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
  WorkerSettings worker;  // without a program everything runs in this process
  int jobs = 1;           // number of compilers
  Regime regime = Regime::cold;
  std::string trusted;
  std::int64_t memory_bytes = 0;
  Throttle throttle;  // of each evaluator
};

// `runtime` must outlive the pool.
WorkerPool make_worker_pool(const WorkerPoolSettings& settings, Runtime& runtime, const AnyProblem& problem);

// A device as seen by a process that makes no context on it.
struct DevicePlace {
  Device device;
  DeviceModel model;  // of the live device
};
DevicePlace place_of(Runtime& runtime, const std::string& device);

// One evaluator on the first device, for configs that are evaluated one by one: each call first compiles the image,
// within the compile limit. `runtime` must outlive it. Throws as the pool's members do.
std::unique_ptr<Evaluator> single_evaluator(const WorkerPoolSettings& settings, const DevicePlace& place,
                                            Runtime& runtime, const AnyProblem& problem);

}  // namespace quern

#endif  // QUERN_TUNER_WORKER_WORKER_POOL_H_
