// Tuning inside of an application: what a Runtime asks in the modes Tuning::on_prepare and Tuning::background. It is a
// library of its own, libquern_tuner, so that an application that only launches embeds none of it:
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

// One problem to tune, and what that may take.
struct TuningTask {
  const Family* family = nullptr;
  const void* problem = nullptr;  // the family's, without an open extent
  int device = 0;                 // ordinal
  // The Runtime's, resolved: records, the program that measures, libraries. `cache.directory` is where workers and this
  // process share images.
  Options options;
  std::vector<const Family*> families;  // that the Runtime knows by name
  std::string worker;                   // path of the program that measures

  double seconds = 0;             // of searching; 0: until there is evidence
  int jobs = 1;                   // compiles at a time
  std::int64_t memory_bytes = 0;  // of the device, for the operands; above 0
  double share = 1;               // of the time in which the device may be used, from 0.001 to 1
  std::function<bool()> hold;     // nothing begins while this is true, where it is given
  std::function<bool()> stop;     // polled; a stopped sweep resumes from its journal next time
  // The key of the image that this process would launch with a config ("": the default's). A winner whose image has
  // another key is rejected.
  std::function<std::string(const std::string& config)> key_of;
};

// A config that was measured for one problem on one device.
struct TunedConfig {
  std::string config;  // as PrepareOptions has it
  std::string from;    // for plan.why(): "measured, 40 configs in 3.1 s: 2.0 % faster than the default"
  bool swept = false;  // now; else another process's record was found
};

// Thread-safe.
class Tuner {
 public:
  virtual ~Tuner() = default;
  // Nothing, with a line in the log of `task.options`, where the problem cannot be tuned or `stop` came first. The
  // winner is in the file of records then; where another process put one there meanwhile, that is it. No candidate runs
  // in this process. Throws nothing.
  virtual std::optional<TunedConfig> tune(const TuningTask& task) = 0;
};

// Of libquern_tuner. Starts nothing yet; may serve several Runtimes.
QUERN_API std::shared_ptr<Tuner> make_tuner();

}  // namespace quern

#endif  // QUERN_TUNER_H_
