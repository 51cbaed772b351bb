#include "commands/gpu_or_host.h"

#include <algorithm>

#include "api/runtime_state.h"
#include "base/text.h"
#include "io/output.h"

namespace quern::tool {

namespace {

void check_named_driver(Runtime& runtime) {
  const std::string& path = runtime.state().options.libcuda;
  if (path.empty()) return;
  try {
    runtime.state().driver();
  } catch (const Error& error) {
    if (error.code != Code::no_driver) throw;
    throw Error(
        Code::no_driver, Stage::load,
        cat("QUERN_LIBCUDA=", path, " is not a driver; unset it to let quern search for one. ", error.sentence));
  }
}

}  // namespace

std::optional<OpenDevice> try_first_gpu(Runtime& runtime, std::string* why_not) {
  auto device = try_open_device(runtime, {false, 0}, why_not);
  if (!device) check_named_driver(runtime);
  return device;
}

std::optional<OpenDevice> gpu_or_host(Runtime& runtime, std::string* why_not) {
  auto device = try_first_gpu(runtime, why_not);
  if (device || runtime.state().compiler.host().path().empty()) return device;
  std::string why_no_host;
  device = try_open_device(runtime, {true, 0}, &why_no_host);
  if (device)
    note(cat("quern: ", why_not->substr(0, std::min(why_not->find(". "), why_not->find('\n'))),
             ": the kernel runs on the CPU, by the host driver (--device host)"));
  else
    *why_not += cat("\nThere is no host driver either: ", why_no_host);
  return device;
}

}  // namespace quern::tool
