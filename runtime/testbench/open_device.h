// A device by name, with its primary context current: what commands, workers and sweeps run on.
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
// Throws Error (bad_input) that says what is accepted.
DeviceName parse_device(const std::string& text);

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

}  // namespace quern

#endif  // QUERN_TESTBENCH_OPEN_DEVICE_H_
