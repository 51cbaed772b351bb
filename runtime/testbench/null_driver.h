// A fake driver whose calls return at once: one device, contexts and kernels that are only numbers, launches that do
// nothing. For measuring quern's own overhead, and for tests of everything above the driver.
#ifndef QUERN_TESTBENCH_NULL_DRIVER_H_
#define QUERN_TESTBENCH_NULL_DRIVER_H_

#include <cstdint>

#include "base/striped.h"
#include "driver/driver.h"

namespace quern {

DriverTable null_driver_table();

// A counter that is read and set like a number; many threads may add to it without contention.
class NullCount {
 public:
  void add() { count_.add(); }
  operator int() const { return static_cast<int>(count_.total()); }
  NullCount& operator=(int count) {
    count_.reset();
    count_.add(static_cast<std::uint64_t>(count));
    return *this;
  }

 private:
  StripedCounter count_;
};

// The counters of null_driver_table's calls and the settings that control their results, per process. Tests set it;
// launches only read it.
struct NullDriver {
  int arch = 90;
  int devices = 1;
  std::uintptr_t current_context = 1;  // 0: no context is current
  std::uintptr_t oldest_context = 1;   // contexts with lower numbers were destroyed
  bool capturing = false;              // a stream is captured: loading and unloading need the relaxed mode
  bool ended = false;                  // the process is exiting and the driver has shut down
  int reject_images = 0;               // how many of the next library loads fail as invalid images
  NullCount loads, unloads, launches;
  static thread_local CUlaunchConfig last_launch;        // the calling thread's
  static thread_local CUstreamCaptureMode capture_mode;  // the same
};
NullDriver& null_driver();

}  // namespace quern

#endif  // QUERN_TESTBENCH_NULL_DRIVER_H_
