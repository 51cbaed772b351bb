// A device opened by name, with its primary context current, for commands, workers and sweeps.
#ifndef QUERN_TESTBENCH_OPEN_DEVICE_H_
#define QUERN_TESTBENCH_OPEN_DEVICE_H_

#include <memory>
#include <optional>
#include <string>

#include "driver/device.h"
#include "quern/runtime.h"

namespace quern {

// "cuda:1", "host", "host:1": a GPU, or a device of the host driver. Also "cuda" and "gpu" for the first GPU, "cpu" for
// the host.
struct DeviceName {
  bool host = false;
  int ordinal = 0;
  std::string text() const { return (host ? "host:" : "cuda:") + std::to_string(ordinal); }
};
// Throws Error (bad_input) that lists the accepted forms.
DeviceName parse_device(const std::string& text);

struct OpenDevice {
  bool host() const { return target.host; }
  // The name in results: the driver's name, or "host".
  std::string name() const { return host() ? "host" : device.name; }

  std::shared_ptr<Driver> driver;
  Device device;
  Target target;
  std::unique_ptr<PrimaryContext> context;  // destroyed before the driver
};

// Throws Error (no_driver, no_device, driver).
OpenDevice open_device(Runtime& runtime, DeviceName name);

// Opens the host driver's first device as a GPU of this model. Call it before any other device of that driver is
// opened. Throws Error.
OpenDevice open_host(Runtime& runtime, const DeviceModel& model);

// Empty, with the reason, if there is no driver or no device.
std::optional<OpenDevice> try_open_device(Runtime& runtime, DeviceName name, std::string* why_not);

}  // namespace quern

#endif  // QUERN_TESTBENCH_OPEN_DEVICE_H_
