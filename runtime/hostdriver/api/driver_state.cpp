#include "hostdriver/api/driver_state.h"

#include <pthread.h>

#include <chrono>
#include <cstdlib>

#include "base/text.h"
#include "hostdriver/exec/report.h"

namespace quern::host {
namespace {

std::atomic<bool> forked{false};

// Streams start no new work, and running work gets a moment to finish: images are unloaded right after.
void end_of_process() {
  if (in_forked_child()) return;
  Lock lock(state().mutex);
  state().ending = true;
  state().changed.notify_all();
  state().changed.wait_for(lock, std::chrono::seconds(1), [] { return state().running == 0; });
}

}  // namespace

const std::string& DriverState::read_environment() {
  if (environment_read_) return environment_problem_;
  environment_read_ = true;
  const char* const text = secure_getenv("QUERN_HOSTDRIVER");
  if (text == nullptr) return environment_problem_;
  Settings told = *settings;
  environment_problem_ = apply(text, told);
  if (!environment_problem_.empty()) environment_problem_ = cat("QUERN_HOSTDRIVER: ", environment_problem_);
  settings = std::make_shared<const Settings>(std::move(told));
  return environment_problem_;
}

void DriverState::make_devices() {
  devices.clear();
  for (const DeviceSettings& figures : settings->devices) {
    auto device = std::make_unique<Device>();
    device->figures = figures;
    device->memory = std::make_unique<Memory>(figures.memory_bytes, figures.l2_bytes);
    device->primary_handle = new_handle<CUcontext>(last_handle);
    devices.push_back(std::move(device));
  }
}

std::size_t DriverState::allocations() const {
  std::size_t count = 0;
  for (const auto& device : devices) count += device->memory->count();
  return count;
}

Allocation* DriverState::find_memory(std::uintptr_t address, Memory** memory) {
  for (const auto& device : devices) {
    Allocation* const found = device->memory->find(address);
    if (found == nullptr) continue;
    if (memory != nullptr) *memory = device->memory.get();
    return found;
  }
  return nullptr;
}

Device& device_at(DriverState& state, CUdevice ordinal) {
  require(ordinal >= 0 && static_cast<std::size_t>(ordinal) < state.devices.size(), CUDA_ERROR_INVALID_DEVICE,
          "there is no such device");
  Device& device = *state.devices[static_cast<std::size_t>(ordinal)];
  require(!device.lost, kDeviceLost, "the device was lost by an injected fault");
  return device;
}

DriverState& state() {
  static auto* const all = new DriverState;
  return *all;
}

bool in_forked_child() { return forked.load(std::memory_order_relaxed); }

void watch_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit(end_of_process);
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
  });
}

}  // namespace quern::host
