// Contexts.
#include <utility>

#include "hostdriver/api/capture.h"
#include "hostdriver/api/current.h"
#include "hostdriver/api/entry_points.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

// The device with this handle as its primary context's, also after its release; else -1.
int primary_device(const DriverState& state, CUcontext handle) {
  for (std::size_t i = 0; i < state.devices.size(); ++i)
    if (state.devices[i]->primary_handle == handle) return static_cast<int>(i);
  return -1;
}

std::shared_ptr<Context> living_context(DriverState& state, CUcontext handle) {
  std::shared_ptr<Context> context = state.contexts.find(handle);
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT, "there is no such context, or it was destroyed");
  return context;
}

// Primary contexts keep their handles; calls with a released one behave as with driver 580.
bool is_primary(const DriverState& state, CUcontext handle) { return primary_device(state, handle) >= 0; }

int device_of_current(DriverState& state) {
  const std::shared_ptr<Context> context = current_context(state);
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
  if (!context->destroyed) return context->device;
  const int device = primary_device(state, current_handle());
  require(device >= 0, CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
  return device;
}

std::uint64_t id_of(DriverState& state, CUcontext handle) {
  require(state.contexts.find(handle) != nullptr || !is_primary(state, handle), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "the primary context was released");
  return living_context(state, handle)->id;
}

}  // namespace

QUERN_HOST_ENTRY CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  return guarded("cuDevicePrimaryCtxRetain", Needs::init, [&](Call& call) {
    CUcontext& result = needed(context, "pctx");
    Device& device = device_at(call.state, ordinal);
    if (device.retained == 0) device.primary = make_context(call.state, ordinal, device.primary_handle, true);
    ++device.retained;
    result = device.primary_handle;
  });
}

QUERN_HOST_ENTRY CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  return guarded("cuDevicePrimaryCtxGetState", Needs::init, [&](Call& call) {
    const Device& device = device_at(call.state, ordinal);
    needed(flags, "flags") = 0;
    needed(active, "active") = device.primary == nullptr ? 0 : 1;
  });
}

QUERN_HOST_ENTRY CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return guarded("cuDevicePrimaryCtxRelease_v2", Needs::init, [&](Call& call) {
    Device& device = device_at(call.state, ordinal);
    require(device.retained > 0, CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
    if (--device.retained > 0) return;
    end_context(call, std::exchange(device.primary, nullptr));
  });
}

QUERN_HOST_ENTRY CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice ordinal) {
  return guarded("cuCtxCreate_v2", Needs::init, [&](Call& call) {
    CUcontext& result = needed(context, "pctx");
    // The low flags only select how the host waits.
    require((flags & ~unsigned{CU_CTX_SCHED_MASK}) == 0, CUDA_ERROR_NOT_SUPPORTED, "flags other than CU_CTX_SCHED_*");
    device_at(call.state, ordinal);
    const auto handle = new_handle<CUcontext>(call.state.last_handle);
    push_current(handle);
    make_context(call.state, ordinal, handle, false);
    result = handle;
  });
}

QUERN_HOST_ENTRY CUresult cuCtxDestroy_v2(CUcontext handle) {
  return guarded("cuCtxDestroy_v2", Needs::init, [&](Call& call) {
    const std::shared_ptr<Context> context = living_context(call.state, handle);
    require(!context->primary, CUDA_ERROR_INVALID_CONTEXT, "a primary context is released, not destroyed");
    if (current_handle() == handle) pop_current();
    end_context(call, context);
  });
}

QUERN_HOST_ENTRY CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return guarded("cuCtxPushCurrent_v2", Needs::init, [&](Call& call) {
    living_context(call.state, handle);
    push_current(handle);
  });
}

QUERN_HOST_ENTRY CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
  return guarded("cuCtxPopCurrent_v2", Needs::init, [&](Call&) {
    require(current_handle() != nullptr, CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
    const CUcontext popped = pop_current();
    if (handle != nullptr) *handle = popped;
  });
}

QUERN_HOST_ENTRY CUresult cuCtxGetCurrent(CUcontext* handle) {
  return guarded("cuCtxGetCurrent", Needs::init, [&](Call&) { needed(handle, "pctx") = current_handle(); });
}

QUERN_HOST_ENTRY CUresult cuCtxSetCurrent(CUcontext handle) {
  return guarded("cuCtxSetCurrent", Needs::init, [&](Call& call) {
    if (handle != nullptr && !is_primary(call.state, handle)) living_context(call.state, handle);
    set_current(handle);
  });
}

QUERN_HOST_ENTRY CUresult cuCtxGetDevice(CUdevice* device) {
  return guarded("cuCtxGetDevice", Needs::init,
                 [&](Call& call) { needed(device, "device") = device_of_current(call.state); });
}

QUERN_HOST_ENTRY CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return guarded("cuCtxGetId", handle == nullptr ? Needs::context : Needs::init, [&](Call& call) {
    needed(id, "ctxId") = handle == nullptr ? call.context->id : id_of(call.state, handle);
  });
}

QUERN_HOST_ENTRY CUresult cuCtxSynchronize() {
  return guarded("cuCtxSynchronize", Needs::healthy, [&](Call& call) {
    refuse_waiting(call.state, *call.context);
    wait_for_context(call, *call.context);
  });
}
