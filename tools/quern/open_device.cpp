#include "open_device.h"

#include "api/runtime_state.h"

namespace quern::tool {

OpenDevice open_device(Runtime& runtime, int ordinal) {
  OpenDevice opened;
  opened.driver = runtime.state().driver();
  opened.device = describe_device(*opened.driver, ordinal);
  opened.target = target_of(opened.device.arch);
  opened.context = std::make_unique<PrimaryContext>(*opened.driver, ordinal);
  return opened;
}

std::optional<OpenDevice> try_open_device(Runtime& runtime, int ordinal, std::string* why_not) {
  try {
    return open_device(runtime, ordinal);
  } catch (const Error& error) {
    if (error.code != Code::no_driver && error.code != Code::no_device) throw;
    *why_not = error.sentence;
    return std::nullopt;
  }
}

}  // namespace quern::tool
