#include "testbench/null_driver.h"

#include <cstring>
#include <utility>

namespace quern {
namespace {

template <class T>
T handle(std::uintptr_t number) {
  return reinterpret_cast<T>(number);  // NOLINT(performance-no-int-to-ptr): a made-up handle
}

int attribute(CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return null_driver().arch / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return null_driver().arch % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 228 * 1024;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 50 << 20;
    default:
      return 0;
  }
}

CUresult device_name(char* name, int length, CUdevice) {
  std::strncpy(name, "null device", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}

// Stricter than driver 580, which allows loading in every mode.
bool forbidden() { return null_driver().capturing && NullDriver::capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED; }

CUresult load(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (null_driver().reject_images > 0) {
    --null_driver().reject_images;
    return CUDA_ERROR_INVALID_IMAGE;
  }
  null_driver().loads.add();
  *library = handle<CUlibrary>(1);
  return CUDA_SUCCESS;
}

CUresult unload(CUlibrary) {
  if (forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  null_driver().unloads.add();
  return CUDA_SUCCESS;
}

CUresult launch(const CUlaunchConfig* config, CUfunction, void**, void**) {
  if (null_driver().ended) return CUDA_ERROR_DEINITIALIZED;
  null_driver().launches.add();
  NullDriver::last_launch = *config;
  return CUDA_SUCCESS;
}

CUresult current(CUcontext* context) {
  if (null_driver().ended) return CUDA_ERROR_DEINITIALIZED;
  *context = handle<CUcontext>(null_driver().current_context);
  return CUDA_SUCCESS;
}

CUresult context_id(CUcontext context, unsigned long long* id) {
  *id = reinterpret_cast<std::uintptr_t>(context);
  return *id < null_driver().oldest_context ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult capturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return null_driver().capturing ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

// By default every call succeeds and does not write its results.
template <class... Arguments>
void succeed(CUresult (*&member)(Arguments...)) {
  member = [](Arguments...) { return CUDA_SUCCESS; };
}

}  // namespace

thread_local CUlaunchConfig NullDriver::last_launch{};
thread_local CUstreamCaptureMode NullDriver::capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

NullDriver& null_driver() {
  static NullDriver state;
  return state;
}

DriverTable null_driver_table() {
  DriverTable table;
#define QUERN_SUCCEED(member, symbol) succeed(table.member);
  QUERN_DRIVER_FUNCTIONS(QUERN_SUCCEED)
#undef QUERN_SUCCEED
  table.DriverGetVersion = [](int* version) { return *version = 13000, CUDA_SUCCESS; };
  table.GetErrorName = [](CUresult, const char** name) { return *name = "CUDA_ERROR", CUDA_SUCCESS; };
  table.GetErrorString = [](CUresult, const char** words) { return *words = "made up", CUDA_SUCCESS; };
  table.DeviceGetCount = [](int* count) { return *count = null_driver().devices, CUDA_SUCCESS; };
  table.DeviceGet = [](CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; };
  table.DeviceGetName = device_name;
  table.DeviceGetAttribute = [](int* value, CUdevice_attribute which, CUdevice) {
    return *value = attribute(which), CUDA_SUCCESS;
  };
  table.DeviceTotalMem = [](std::size_t* bytes, CUdevice) { return *bytes = std::size_t{1} << 30, CUDA_SUCCESS; };
  table.CtxGetCurrent = current;
  table.CtxGetDevice = [](CUdevice* device) { return *device = 0, CUDA_SUCCESS; };
  table.CtxGetId = context_id;
  table.LibraryLoadData = load;
  table.LibraryUnload = unload;
  table.LibraryGetKernel = [](CUkernel* kernel, CUlibrary, const char*) {
    return *kernel = handle<CUkernel>(1), CUDA_SUCCESS;
  };
  table.KernelGetFunction = [](CUfunction* function, CUkernel) {
    return *function = handle<CUfunction>(1), CUDA_SUCCESS;
  };
  table.OccupancyMaxBlocks = [](int* blocks, CUfunction, int, std::size_t) { return *blocks = 1, CUDA_SUCCESS; };
  table.LaunchKernelEx = launch;
  table.StreamIsCapturing = capturing;
  table.ThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
    return std::swap(*mode, NullDriver::capture_mode), CUDA_SUCCESS;
  };
  return table;
}

}  // namespace quern
