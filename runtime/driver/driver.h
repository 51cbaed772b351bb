// The driver as quern sees it: a typed table of entry points, filled from libcuda.so.1 at run time or given by the
// host.
#ifndef QUERN_DRIVER_DRIVER_H_
#define QUERN_DRIVER_DRIVER_H_

#include <memory>
#include <string>

#include "driver/functions.h"
#include "driver/host_controls.h"
#include "quern/error.h"

namespace quern {

struct DriverTable {
#define QUERN_DRIVER_MEMBER(member, symbol) decltype(&symbol) member = nullptr;
  QUERN_DRIVER_FUNCTIONS(QUERN_DRIVER_MEMBER)
#undef QUERN_DRIVER_MEMBER
};

// What the host driver has beside it; null members for any other driver.
struct HostControls {
#define QUERN_HOST_MEMBER(member, symbol) decltype(&symbol) member = nullptr;
  QUERN_HOST_FUNCTIONS(QUERN_HOST_MEMBER)
#undef QUERN_HOST_MEMBER
};

// Thread-safe. Kept alive by every plan, so that kernels can be unloaded when the last plan goes.
class Driver {
 public:
  // Opens `path`, or libcuda.so.1 by the loader's search where it is empty, and initializes the driver. Throws Error
  // (no_driver) that lists each place tried and why it failed, or (no_device) where there is a driver but no device.
  static std::shared_ptr<Driver> open(const std::string& path);
  // A table given by a test or a benchmark; nothing is opened.
  explicit Driver(const DriverTable& table, std::string origin = "table", const HostControls& host = {});
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Entry points by name: driver->LaunchKernelEx(…).
  const DriverTable* operator->() const { return &table_; }
  // Throws Error (driver) that names the call and the driver's words for `result`.
  void check(CUresult result, Stage stage, const char* call) const {
    if (result != CUDA_SUCCESS) fail(result, stage, call);
  }
  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(CUresult result) const;
  // Where the table came from: the library's path.
  const std::string& origin() const { return origin_; }
  int version() const;
  // Whether this is the host driver: its devices take images for the target `host`.
  bool runs_host_images() const { return host_.Configure != nullptr; }
  // Whether its events tell a device's times: not those of a host driver, but where a test scripts their clock.
  bool tells_time() const { return !runs_host_images() || host_.TellsTime() != 0; }
  // Throws Error (bad_input) where it is not.
  const HostControls& host() const;
  // Names device memory for the reports of a driver that gives any.
  void name_memory(CUdeviceptr memory, const char* name) const {
    if (host_.NameMemory != nullptr) host_.NameMemory(memory, name);
  }
  // Whether driver calls are allowed: not in a child forked since the driver was opened. One load and one comparison.
  bool survived_fork() const;
  // Whether what the driver holds for us is worth giving back: not in such a child, and not while the process ends.
  bool may_release() const;
  // The Error for a call in such a child.
  static Error forked();

 private:
  [[noreturn]] void fail(CUresult result, Stage stage, const char* call) const;
  DriverTable table_;
  HostControls host_;
  std::string origin_;
  unsigned forks_;  // of this process and its ancestors when the driver was opened
};

}  // namespace quern

#endif  // QUERN_DRIVER_DRIVER_H_
