#include "testbench/open_device.h"

#include <algorithm>

#include "api/runtime_state.h"
#include "base/text.h"
#include "driver/find_host_driver.h"

namespace quern {

// Other common names for the two.
static constexpr Alias kDeviceAliases[] = {{"cpu", "host"}, {"gpu", "cuda"}};

DeviceName parse_device(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string kind = meant_by(text.substr(0, colon), kDeviceAliases);
  const auto ordinal = colon == text.size() ? 0 : parse_integer(std::string_view(text).substr(colon + 1));
  if ((kind != "cuda" && kind != "host") || !ordinal || *ordinal < 0 || *ordinal > 1023)
    throw Error(Code::bad_input, Stage::tool,
                cat("--device ", text, " is invalid; it takes cuda:N, cuda:0 for one, or host.",
                    did_you_mean(lower(text), {"cuda:0", "host", "gpu", "cpu"})));
  return {kind == "host", static_cast<int>(*ordinal)};
}

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

}  // namespace quern
