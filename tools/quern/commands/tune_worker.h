// Worker processes of the tune commands: their options, and their settings.
#ifndef QUERN_TOOLS_COMMANDS_TUNE_WORKER_H_
#define QUERN_TOOLS_COMMANDS_TUNE_WORKER_H_

#include <cstdint>
#include <string>

#include "io/command.h"
#include "tuner/worker/remote.h"

namespace quern::tool {

struct WorkerRequest {
  std::string memory;          // limit on each device, "8G"; "": half of the free memory
  int timeout_s = 20;          // for one config
  int compile_timeout_s = 60;  // for one compile
  bool in_process = false;     // no workers
};

// Throws Error (bad_input) for invalid values, before a device is opened.
void check_worker(const WorkerRequest& request);
// Throws Error (io; bad_input) where workers could not share images with this process.
void require_worker_store(Runtime& runtime, const WorkerRequest& request, const Global& global);

// This program as its own worker; without a program if everything runs in this process.
WorkerSettings worker_settings(Runtime& runtime, const WorkerRequest& request, const Global& global);
// 0: half of the free memory.
std::int64_t memory_bytes(const WorkerRequest& request);

// Notes that the host driver's times do not apply to a GPU; once, before they are shown.
void warn_of_emulation();

}  // namespace quern::tool

#endif  // QUERN_TOOLS_COMMANDS_TUNE_WORKER_H_
