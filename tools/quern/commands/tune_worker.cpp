#include "commands/tune_worker.h"

#include "api/runtime_state.h"
#include "base/environment.h"
#include "base/text.h"
#include "io/output.h"

namespace quern::tool {

void check_worker(const WorkerRequest& request) { memory_bytes(request); }

void require_worker_store(Runtime& runtime, const WorkerRequest& request, const Global& global) {
  if (request.in_process) return;
  require_store(runtime, global,
                "tune's workers share images in a writable directory (--cache-dir or QUERN_CACHE_DIR); "
                "--in-process needs none");
}

WorkerSettings worker_settings(Runtime& runtime, const WorkerRequest& request, const Global& global) {
  WorkerSettings settings;
  if (request.in_process) return settings;
  settings = worker_of("/proc/self/exe", runtime.state().store.directory(), {global.nvrtc, "", ""});
  settings.evaluate_limit = std::chrono::seconds(request.timeout_s);
  settings.compile_limit = std::chrono::seconds(request.compile_timeout_s);
  return settings;
}

std::int64_t memory_bytes(const WorkerRequest& request) {
  return request.memory.empty() ? 0 : static_cast<std::int64_t>(parse_amount(request.memory, "--memory"));
}

void warn_of_emulation() {
  note("the host driver's times are those of an emulation; a winner here does not apply to a GPU");
}

}  // namespace quern::tool
