// Where candidates run when a command measures them: what may be typed about it, and the workers themselves.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_WORKER_H_
#define QUERN_TOOLS_COMMANDS_TUNE_WORKER_H_

#include <cstdint>
#include <string>

#include "io/command.h"
#include "tuner/worker/remote.h"

namespace quern::tool {

struct WorkerRequest {
  std::string memory;          // of each device, "8G"; "": half of what is free
  int timeout_s = 20;          // that one config may run
  int compile_timeout_s = 60;  // that one compile may take
  bool in_process = false;     // no workers
};

// Throws Error (bad_input) for what cannot be meant, before a device is looked for.
void check_worker(const WorkerRequest& request);
// Throws Error (io; bad_input) where workers could not share images with this process.
void require_worker_store(Runtime& runtime, const WorkerRequest& request, const Global& global);

// This program as its own worker; without a program where all work is done in this process.
WorkerSettings worker_settings(Runtime& runtime, const WorkerRequest& request, const Global& global);
// 0: half of what is free.
std::int64_t memory_bytes(const WorkerRequest& request);

// The host driver's times say nothing of a GPU; said once, before they are shown.
void warn_of_emulation();

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_WORKER_H_
