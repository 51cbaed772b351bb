// The driver interface: a typed table of entry points, filled from libcuda.so.1 at run time or given by the host.
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

// Extra functions of the host driver; the members are null for any other driver.
struct HostControls {
#define QUERN_HOST_MEMBER(member, symbol) decltype(&symbol) member = nullptr;
  QUERN_HOST_FUNCTIONS(QUERN_HOST_MEMBER)
#undef QUERN_HOST_MEMBER
};

// Thread-safe. Every plan holds a reference, so that kernels can be unloaded with the last plan.
class Driver {
 public:
  // Opens `path`, or libcuda.so.1 by the loader's search if it is empty, and initializes the driver. Throws Error
  // (no_driver) that lists each place tried and why it failed, or (no_device) if there is a driver but no device.
  static std::shared_ptr<Driver> open(const std::string& path);
  // A table given by a test or a benchmark; nothing is opened.
  explicit Driver(const DriverTable& table, std::string origin = "table", const HostControls& host = {});
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Entry points by name: driver->LaunchKernelEx(…).
  const DriverTable* operator->() const { return &table_; }
  // Throws Error (driver) that names the call and describes `result`.
  void check(CUresult result, Stage stage, const char* call) const {
    if (result != CUDA_SUCCESS) fail(result, stage, call);
  }
  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(CUresult result) const;
  // The path of the library that the table came from.
  const std::string& origin() const { return origin_; }
  int version() const;
  // Whether this is the host driver: its devices take images for the target `host`.
  bool runs_host_images() const { return host_.Configure != nullptr; }
  // Whether its events measure device time. False for a host driver, unless a test scripts its clock.
  bool tells_time() const { return !runs_host_images() || host_.TellsTime() != 0; }
  // Throws Error (bad_input) if it is not.
  const HostControls& host() const;
  // Names device memory for the reports of the host driver; other drivers ignore it.
  void name_memory(CUdeviceptr memory, const char* name) const {
    if (host_.NameMemory != nullptr) host_.NameMemory(memory, name);
  }
  // Whether driver calls are allowed: false in a child forked since the driver was opened. One load and one comparison.
  bool survived_fork() const;
  // Whether driver resources should be released: false in such a child, and while the process exits.
  bool may_release() const;
  // The Error for a call in such a child.
  static Error forked();

 private:
  [[noreturn]] void fail(CUresult result, Stage stage, const char* call) const;
  DriverTable table_;
  HostControls host_;
  std::string origin_;
  unsigned forks_;  // process_state's count when the driver was opened
};

}  // namespace quern

#endif  // QUERN_DRIVER_DRIVER_H_
