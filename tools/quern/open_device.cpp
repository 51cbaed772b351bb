#include "open_device.h"

#include <algorithm>

#include "api/runtime_state.h"
#include "base/text.h"
#include "driver/find_host_driver.h"
#include "output.h"

namespace quern::tool {

OpenDevice open_host(Runtime& runtime, const DeviceModel& model) {
  const auto driver = open_host_driver(runtime.state().environment);
  const std::string settings =
      cat("arch=", model.arch, " multiprocessors=", model.multiprocessors,
          " threads_per_multiprocessor=", model.threads_per_multiprocessor, " l2_bytes=", model.l2_bytes);
  driver->check(driver->host().Configure(settings.c_str()), Stage::tool, "quernHostConfigure");
  return open_device(runtime, {true, 0});
}

OpenDevice open_device(Runtime& runtime, DeviceName name) {
  if (name.host) runtime.state().use(open_host_driver(runtime.state().environment));
  OpenDevice opened;
  opened.driver = runtime.state().driver();
  opened.device = describe_device(*opened.driver, name.ordinal);
  opened.target = opened.device.target;
  opened.context = std::make_unique<PrimaryContext>(*opened.driver, name.ordinal);
  return opened;
}

std::optional<OpenDevice> try_open_device(Runtime& runtime, DeviceName name, std::string* why_not) {
  try {
    return open_device(runtime, name);
  } catch (const Error& error) {
    if (error.code != Code::no_driver && error.code != Code::no_device) throw;
    *why_not = error.sentence;
    return std::nullopt;
  }
}

std::optional<OpenDevice> gpu_or_host(Runtime& runtime, std::string* why_not) {
  auto device = try_open_device(runtime, {false, 0}, why_not);
  if (device || runtime.state().compiler.host().path().empty()) return device;
  std::string why_no_host;
  device = try_open_device(runtime, {true, 0}, &why_no_host);
  if (device)
    note(cat("quern: ", why_not->substr(0, std::min(why_not->find(". "), why_not->find('\n'))),
             ": the kernel runs on the CPU, by the host driver (--device host)"));
  else
    *why_not += cat("\nNor is there a host driver: ", why_no_host);
  return device;
}

}  // namespace quern::tool
