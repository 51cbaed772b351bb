// The device that a command runs on, with its primary context current.
#ifndef QUERN_TOOLS_OPEN_DEVICE_H_
#define QUERN_TOOLS_OPEN_DEVICE_H_

#include <memory>
#include <optional>
#include <string>

#include "driver/device.h"
#include "quern/runtime.h"
#include "subject.h"

namespace quern::tool {

struct OpenDevice {
  bool host() const { return target.host; }
  // As results name it: the driver's name, or "host".
  std::string name() const { return host() ? "host" : device.name; }

  std::shared_ptr<Driver> driver;
  Device device;
  Target target;
  std::unique_ptr<PrimaryContext> context;  // goes before the driver
};

// Throws Error (no_driver, no_device, driver).
OpenDevice open_device(Runtime& runtime, DeviceName name);

// The host driver's first device, standing for a GPU of this model. Before any other device of it is opened. Throws
// Error.
OpenDevice open_host(Runtime& runtime, const DeviceModel& model);

// Nothing, with the reason, where there is no driver or no device.
std::optional<OpenDevice> try_open_device(Runtime& runtime, DeviceName name, std::string* why_not);

// The first GPU; where there is none, the host driver's first device, with a line on stderr that says so. Nothing where
// there is neither, or no C++ compiler for the host, with the reason why there is no GPU.
std::optional<OpenDevice> gpu_or_host(Runtime& runtime, std::string* why_not);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_OPEN_DEVICE_H_
