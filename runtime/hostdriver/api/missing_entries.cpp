// Common functions that this driver does not support: they refuse by name, which is clearer than a missing symbol.
#include "hostdriver/api/guarded.h"

using namespace quern::host;  // NOLINT(google-build-using-namespace): what follows are entry points only

namespace {

CUresult missing(const char* name) {
  return guarded(name, Needs::nothing,
                 [&](Call&) { refuse(CUDA_ERROR_NOT_SUPPORTED, "the host driver does not have this function"); });
}

}  // namespace

// ROW(name, parameters)
#define QUERN_HOST_MISSING(ROW)                                                                                       \
  ROW(cuModuleLoadData, (CUmodule*, const void*))                                                                     \
  ROW(cuLaunchKernel,                                                                                                 \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**))   \
  ROW(cuLaunchCooperativeKernel,                                                                                      \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**))           \
  ROW(cuLaunchHostFunc, (CUstream, CUhostFn, void*))                                                                  \
  ROW(cuMemAllocAsync, (CUdeviceptr*, std::size_t, CUstream))                                                         \
  ROW(cuMemFreeAsync, (CUdeviceptr, CUstream))                                                                        \
  ROW(cuMemAllocManaged, (CUdeviceptr*, std::size_t, unsigned))                                                       \
  ROW(cuMemHostAlloc, (void**, std::size_t, unsigned))                                                                \
  ROW(cuMemcpy2D_v2, (const CUDA_MEMCPY2D*))                                                                          \
  ROW(cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))                                               \
  ROW(cuMemsetD32Async, (CUdeviceptr, unsigned, std::size_t, CUstream))                                               \
  ROW(cuStreamCreateWithPriority, (CUstream*, unsigned, int))                                                         \
  ROW(cuTensorMapEncodeTiled,                                                                                         \
      (CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, \
       const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))

#define QUERN_MISSING(name, parameters) \
  QUERN_HOST_ENTRY CUresult name parameters { return missing(#name); }
QUERN_HOST_MISSING(QUERN_MISSING)
