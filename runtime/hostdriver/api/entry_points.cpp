#include "hostdriver/api/entry_points.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "driver/functions.h"
#include "hostdriver/api/guarded.h"

namespace quern::host {
namespace {

// This driver's functions that are not in quern's table of functions; the last rows only refuse by name.
#define QUERN_HOST_MORE_FUNCTIONS(ROW) \
  ROW(cuEventElapsedTime_v2)           \
  ROW(cuCtxCreate_v2)                  \
  ROW(cuCtxDestroy_v2)                 \
  ROW(cuCtxPushCurrent_v2)             \
  ROW(cuCtxPopCurrent_v2)              \
  ROW(cuDeviceGetUuid_v2)              \
  ROW(cuEventQuery)                    \
  ROW(cuFuncSetAttribute)              \
  ROW(cuGetProcAddress_v2)             \
  ROW(cuLibraryGetKernelCount)         \
  ROW(cuMemcpyDtoD_v2)                 \
  ROW(cuMemcpyDtoHAsync_v2)            \
  ROW(cuMemcpyHtoDAsync_v2)            \
  ROW(cuStreamQuery)                   \
  ROW(cuStreamWaitEvent)               \
  ROW(cuLaunchCooperativeKernel)       \
  ROW(cuLaunchHostFunc)                \
  ROW(cuLaunchKernel)                  \
  ROW(cuMemAllocAsync)                 \
  ROW(cuMemAllocManaged)               \
  ROW(cuMemFreeAsync)                  \
  ROW(cuMemHostAlloc)                  \
  ROW(cuMemcpy2D_v2)                   \
  ROW(cuMemcpyAsync)                   \
  ROW(cuMemsetD32Async)                \
  ROW(cuModuleLoadData)                \
  ROW(cuStreamCreateWithPriority)      \
  ROW(cuTensorMapEncodeTiled)

#define QUERN_ROW(symbol) {#symbol, reinterpret_cast<void*>(&(symbol))},
#define QUERN_MEMBER_ROW(member, symbol) {#symbol, reinterpret_cast<void*>(&(symbol))},
const EntryPoint kEntryPoints[] = {QUERN_DRIVER_FUNCTIONS(QUERN_MEMBER_ROW) QUERN_HOST_MORE_FUNCTIONS(QUERN_ROW)};
#undef QUERN_MEMBER_ROW
#undef QUERN_ROW

}  // namespace

const EntryPoint* find_entry_point(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kEntryPoints), std::end(kEntryPoints),
                                         [&](const EntryPoint& point) { return point.name == name; });
  return found == std::end(kEntryPoints) ? nullptr : found;
}

}  // namespace quern::host

// Names come without a version and stand for the newest one.
QUERN_HOST_ENTRY CUresult cuGetProcAddress_v2(const char* symbol, void** address, int, cuuint64_t flags,
                                              CUdriverProcAddressQueryResult* status) {
  using namespace quern::host;
  return guarded("cuGetProcAddress_v2", Needs::nothing, [&](Call&) {
    const std::string name = &needed(symbol, "symbol");
    void*& result = needed(address, "pfn");
    require(flags == CU_GET_PROC_ADDRESS_DEFAULT || flags == CU_GET_PROC_ADDRESS_LEGACY_STREAM,
            CUDA_ERROR_NOT_SUPPORTED, "flags other than CU_GET_PROC_ADDRESS_LEGACY_STREAM");
    const EntryPoint* found = find_entry_point(name + "_v2");
    if (found == nullptr) found = find_entry_point(name);
    result = found == nullptr ? nullptr : found->address;
    if (status != nullptr)
      *status = found == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
    if (found == nullptr) refuse(CUDA_ERROR_NOT_FOUND, "this driver lacks " + name);
  });
}
