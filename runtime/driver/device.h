// Devices, the caller's context, and the table of device models.
#ifndef QUERN_DRIVER_DEVICE_H_
#define QUERN_DRIVER_DEVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "quern/family.h"

namespace quern {

inline constexpr int kOldestArch = 80;  // compute capability 8.0

struct Device {
  int ordinal = 0;
  std::string name;
  int arch = 0;           // 90 for compute capability 9.0
  Target target;          // target for images of this device
  bool emulated = false;  // host driver without a scripted clock: its times are meaningless
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  std::int64_t shared_bytes_per_multiprocessor = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
};

int device_count(const Driver& driver);
// Throws Error (no_device) for an ordinal that does not exist.
Device describe_device(const Driver& driver, int ordinal);

// The calling thread's context. `id` is unique over the life of the process, unlike the handle.
struct Context {
  CUcontext handle = nullptr;
  std::uint64_t id = 0;
  int device = 0;
};
// Throws Error (no_device) if no context is current, with what to do.
Context current_context(const Driver& driver);
// Only the context's id, the key of the plan table. 0 if no context is current.
std::uint64_t current_context_id(const Driver& driver);

// Retains a device's primary context and makes it current for the calling thread, for tools and tests; a library call
// never changes the current context.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

 private:
  const Driver& driver_;
  CUdevice device_ = 0;
};

// The compile target for a GPU's compute capability. With "a" if the architecture has specific features that templates
// use.
Target target_of(int arch);
// For an emulated device of the host driver.
Target host_target(int arch);
// Parses "sm_90a", "sm_80", "host", "host_80", and common spellings: "h200"; "90a", "sm90a". A plain number, "90" or
// "9.0", means the target of such a device, sm_90a. Throws Error that lists the known ones.
Target parse_target(std::string_view text);
// The accepted targets, in the form of Target::text().
std::vector<std::string> target_names();

// Models known by name, and one generic row per architecture; the generic rows come first.
Table<DeviceModel> device_models();
const DeviceModel& generic_model(int arch);
// The row for a live device: a named row if the device name matches, else the generic row. Throws for an unknown name.
const DeviceModel& model_of(const Device& device);
// That row with the live device's own figures.
DeviceModel live_model(const Device& device);
// Ignores case and a leading "NVIDIA ".
const DeviceModel& model_by_name(std::string_view name);

}  // namespace quern

#endif  // QUERN_DRIVER_DEVICE_H_
