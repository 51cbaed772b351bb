// Tuning inside an application, which a Runtime uses in the modes Tuning::on_prepare and Tuning::background. It is a
// separate library, libquern_tuner, so that an application that only launches does not link it:
//
//   target_link_libraries(app PRIVATE quern::tuner)
//
//   quern::Options options;
//   options.tuning.mode = quern::Tuning::background;
//   options.tuning.tuner = quern::make_tuner();
//   quern::Runtime runtime(options);
#ifndef QUERN_TUNER_H_
#define QUERN_TUNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/options.h"

namespace quern {

// A problem to tune, with its limits.
struct TuningTask {
  const Family* family = nullptr;
  const void* problem = nullptr;  // the family's, without an open extent
  int device = 0;                 // ordinal
  // The Runtime's, resolved: records, the program that measures, libraries. Workers and this process share images
  // through `cache.directory`.
  Options options;
  std::vector<const Family*> families;  // registered with the Runtime by name
  std::string worker;                   // path of the program that measures

  double seconds = 0;             // search time; 0: until there is evidence
  int jobs = 1;                   // concurrent compiles
  std::int64_t memory_bytes = 0;  // device memory for the operands; above 0
  double share = 1;               // share of device time, from 0.001 to 1
  std::function<bool()> hold;     // optional; nothing starts while it returns true
  std::function<bool()> stop;     // polled; a stopped sweep resumes from its journal next time
  // The key of the image that this process would launch with a config ("": the default's). A winner with another image
  // key is rejected.
  std::function<std::string(const std::string& config)> key_of;
};

// A config that was measured for one problem on one device.
struct TunedConfig {
  std::string config;  // in the form of PrepareOptions
  std::string from;    // for plan.why(): "measured, 40 configs in 3.1 s: 2.0 % faster than the default"
  bool swept = false;  // by this sweep; else another process's record was found
};

// Thread-safe.
class Tuner {
 public:
  virtual ~Tuner() = default;
  // Returns nothing, and logs a line to `task.options`, if the problem cannot be tuned or `stop` came first. Else the
  // winner is in the record file; if another process put one there meanwhile, that one is returned. No candidate runs
  // in this process. Does not throw.
  virtual std::optional<TunedConfig> tune(const TuningTask& task) = 0;
};

// Implemented in libquern_tuner. Starts nothing yet; may serve several Runtimes.
QUERN_API std::shared_ptr<Tuner> make_tuner();

}  // namespace quern

#endif  // QUERN_TUNER_H_
