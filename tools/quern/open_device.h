// The device that a command runs on, with its primary context current.
#ifndef QUERN_TOOLS_OPEN_DEVICE_H_
#define QUERN_TOOLS_OPEN_DEVICE_H_

#include <memory>
#include <optional>
#include <string>

#include "driver/device.h"
#include "quern/runtime.h"

namespace quern::tool {

struct OpenDevice {
  std::shared_ptr<Driver> driver;
  Device device;
  Target target;
  std::unique_ptr<PrimaryContext> context;  // goes before the driver
};

// Throws Error (no_driver, no_device, driver).
OpenDevice open_device(Runtime& runtime, int ordinal);

// Nothing, with the reason, where there is no driver or no device.
std::optional<OpenDevice> try_open_device(Runtime& runtime, int ordinal, std::string* why_not);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_OPEN_DEVICE_H_
