// All entry points of this driver by name: for faults, and for cuGetProcAddress.
#ifndef QUERN_HOSTDRIVER_API_ENTRY_POINTS_H_
#define QUERN_HOSTDRIVER_API_ENTRY_POINTS_H_

#include <cuda.h>

#include <string_view>

// cuda.h only declares the newest versions.
#undef cuEventElapsedTime
extern "C" {
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device);
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end);
}

namespace quern::host {

struct EntryPoint {
  std::string_view name;
  void* address;
};

// Null for an unknown name.
const EntryPoint* find_entry_point(std::string_view name);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_ENTRY_POINTS_H_
