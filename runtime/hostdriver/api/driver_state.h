// The whole state of the driver: devices, contexts, handles, and the one lock that guards them.
#ifndef QUERN_HOSTDRIVER_API_DRIVER_STATE_H_
#define QUERN_HOSTDRIVER_API_DRIVER_STATE_H_

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hostdriver/api/handles.h"
#include "hostdriver/api/objects.h"
#include "hostdriver/exec/access_log.h"
#include "hostdriver/exec/memory.h"
#include "hostdriver/exec/settings.h"

namespace quern::host {

using Lock = std::unique_lock<std::mutex>;

struct Device {
  DeviceSettings figures;
  std::unique_ptr<Memory> memory;
  CUcontext primary_handle = nullptr;  // unchanged when the context is recreated, as on a real device
  std::shared_ptr<Context> primary;
  unsigned retained = 0;
  bool lost = false;
};

struct DriverState {
  std::mutex mutex;
  // Notified when a job was enqueued or finished, a stream was destroyed, or the process exits.
  std::condition_variable changed;

  bool initialized = false;
  bool ending = false;
  std::shared_ptr<const Settings> settings = std::make_shared<Settings>();
  std::vector<std::unique_ptr<Device>> devices;  // created by cuInit

  Handles<Context, CUcontext> contexts;
  Handles<Stream, CUstream> streams;
  Handles<Event, CUevent> events;
  Handles<Library, CUlibrary> libraries;
  Handles<Library, CUkernel> kernels;
  Handles<Function, CUfunction> functions;
  Handles<Graph, CUgraph> graphs;
  Handles<Executable, CUgraphExec> executables;
  std::vector<std::shared_ptr<Capture>> captures;

  std::uintptr_t last_handle = 0x10000;
  std::uint64_t last_context = 0;
  unsigned running = 0;          // running jobs
  unsigned living_contexts = 0;  // including those being destroyed

  AccessLog access_log;
  std::atomic<bool> logs_accesses{false};

  // Adds `object` under a new handle.
  template <class T, class Handle>
  Handle add(Handles<T, Handle>& handles, std::shared_ptr<T> object) {
    const auto handle = new_handle<Handle>(last_handle);
    handles.add(handle, std::move(object));
    return handle;
  }
  // Applies QUERN_HOSTDRIVER at the first call; returns an error message, or "".
  const std::string& read_environment();
  void make_devices();
  std::size_t allocations() const;
  // The allocation that contains `address` or is nearest to it, on any device; else null.
  Allocation* find_memory(std::uintptr_t address, Memory** memory = nullptr);

 private:
  bool environment_read_ = false;
  std::string environment_problem_;
};

// The result of calls for a lost device. When a real GPU falls off the bus, calls of running processes return
// CUDA_ERROR_UNKNOWN; CUDA_ERROR_DEVICE_UNAVAILABLE is for a busy device in exclusive mode.
constexpr CUresult kDeviceLost = CUDA_ERROR_UNKNOWN;
// Throws Refusal for a device that does not exist or was lost.
Device& device_at(DriverState& state, CUdevice ordinal);

// Never destroyed: threads and static objects of the application may outlive main.
DriverState& state();
// True in a forked child, where the streams' threads do not exist.
bool in_forked_child();
// Registers the handlers for process exit and fork; called by cuInit.
void watch_process();

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_DRIVER_STATE_H_
