// Memory, copies and sets.
#include "base/text.h"
#include "hostdriver/api/capture.h"
#include "hostdriver/api/operations.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

void check_host(const void* host, std::size_t bytes, const char* what) {
  if (bytes > 0) need(host, what);
}

// Runs in the legacy stream, and the caller waits. A capture forbids it only if it forbids work in that stream, as with
// driver 580.
void do_now(Call& call, Operation operation) {
  wait_for_job(call, enqueue(call, call.context->legacy, std::move(operation)));
}

// Running work may still use the memory, so the call first waits for the context, as a real driver does.
CUresult free_memory(Call& call, CUdeviceptr address) {
  Memory* memory = nullptr;
  const Allocation* const allocation = call.state.find_memory(address, &memory);
  require(allocation != nullptr && allocation->begin == address, CUDA_ERROR_INVALID_VALUE,
          "the address is not the start of an allocation");
  if (call.context != nullptr) wait_for_context(call, *call.context);
  std::string damage;
  require(memory->free(address, &damage), CUDA_ERROR_INVALID_VALUE, "the memory was freed by another thread");
  if (!damage.empty()) refuse(CUDA_ERROR_ILLEGAL_ADDRESS, damage);
  return CUDA_SUCCESS;
}

}  // namespace

QUERN_HOST_ENTRY CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return guarded("cuMemGetInfo_v2", Needs::healthy, [&](Call& call) {
    const Device& device = call.device();
    const auto all = static_cast<std::size_t>(device.figures.memory_bytes);
    needed(free, "free") = all - device.memory->used();
    needed(total, "total") = all;
  });
}

QUERN_HOST_ENTRY CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return guarded("cuMemAlloc_v2", Needs::healthy, [&](Call& call) {
    CUdeviceptr& result = needed(address, "dptr");
    require(bytes > 0, CUDA_ERROR_INVALID_VALUE, "bytesize is 0");
    refuse_unsafe(call.state);
    const Device& device = call.device();
    result = device.memory->allocate(bytes, call.context->id);
    if (result == 0)
      refuse(CUDA_ERROR_OUT_OF_MEMORY,
             quern::cat(bytes, " bytes; ", device.memory->used(), " of ", device.figures.memory_bytes, " are in use"));
  });
}

QUERN_HOST_ENTRY CUresult cuMemFree_v2(CUdeviceptr address) {
  return guarded("cuMemFree_v2", Needs::release, [&](Call& call) {
    if (address == 0) return CUDA_SUCCESS;
    refuse_unsafe(call.state);
    return free_memory(call, address);
  });
}

QUERN_HOST_ENTRY CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return guarded("cuMemcpyHtoD_v2", Needs::healthy, [&](Call& call) {
    check_host(from, bytes, "srcHost");
    do_now(call, copy_to_device(to, from, bytes));
  });
}

QUERN_HOST_ENTRY CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return guarded("cuMemcpyDtoH_v2", Needs::healthy, [&](Call& call) {
    check_host(to, bytes, "dstHost");
    do_now(call, copy_to_host(to, from, bytes));
  });
}

// Does not block the host, as with a real driver.
QUERN_HOST_ENTRY CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return guarded("cuMemcpyDtoD_v2", Needs::healthy,
                 [&](Call& call) { enqueue(call, call.context->legacy, copy_on_device(to, from, bytes)); });
}

QUERN_HOST_ENTRY CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream handle) {
  return guarded("cuMemcpyDtoDAsync_v2", Needs::healthy,
                 [&](Call& call) { enqueue(call, stream_of(call, handle), copy_on_device(to, from, bytes)); });
}

// All host memory here is pageable: its bytes are read before the call returns. A graph reads them at each launch.
QUERN_HOST_ENTRY CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream handle) {
  return guarded("cuMemcpyHtoDAsync_v2", Needs::healthy, [&](Call& call) {
    check_host(from, bytes, "srcHost");
    const std::shared_ptr<Stream> stream = stream_of(call, handle);
    const bool captured = stream->capture != nullptr;
    enqueue(call, stream, captured ? copy_to_device(to, from, bytes) : copy_staged(to, from, bytes));
  });
}

// The destination is pageable, so the call returns after the copy.
QUERN_HOST_ENTRY CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream handle) {
  return guarded("cuMemcpyDtoHAsync_v2", Needs::healthy, [&](Call& call) {
    check_host(to, bytes, "dstHost");
    wait_for_job(call, enqueue(call, stream_of(call, handle), copy_to_host(to, from, bytes)));
  });
}

QUERN_HOST_ENTRY CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream handle) {
  return guarded("cuMemsetD8Async", Needs::healthy,
                 [&](Call& call) { enqueue(call, stream_of(call, handle), set_bytes(to, value, bytes)); });
}
