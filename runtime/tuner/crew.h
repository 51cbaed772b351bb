// Who works in a sweep: workers, or judges and compilers in this process.
#ifndef QUERN_TUNER_CREW_H_
#define QUERN_TUNER_CREW_H_

#include <memory>
#include <string>
#include <vector>

#include "driver/device.h"
#include "quern/runtime.h"
#include "tuner/live_lab.h"
#include "tuner/pace.h"

namespace quern {

struct CrewSettings {
  std::vector<std::string> devices;
  WorkerSettings worker;  // without a program all work is done in this process
  int jobs = 1;           // compilers
  Regime regime = Regime::cold;
  std::string trusted;
  std::int64_t memory_bytes = 0;
  Pace pace;  // of each examiner
};

// `runtime` must outlive the crew.
Crew make_crew(const CrewSettings& settings, Runtime& runtime, const AnyProblem& problem);

// A device as a process sees it that makes no context there.
struct DevicePlace {
  Device device;
  DeviceModel model;  // the live figures
};
DevicePlace place_of(Runtime& runtime, const std::string& device);

// One examiner on the first device, for whoever asks for one config after the other: the image is made first, by a
// compiler and within its limit. `runtime` must outlive it. Throws as the crew's members do.
std::unique_ptr<Examiner> lone_examiner(const CrewSettings& settings, const DevicePlace& place, Runtime& runtime,
                                        const AnyProblem& problem);

}  // namespace quern

#endif  // QUERN_TUNER_CREW_H_
