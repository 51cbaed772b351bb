// The driver's entry points that quern uses: one row each, `ROW(member, exported symbol)`. The symbol includes the ABI
// version on purpose: cuda.h maps plain names to the newest one, which an older driver may lack.
#ifndef QUERN_DRIVER_FUNCTIONS_H_
#define QUERN_DRIVER_FUNCTIONS_H_

#include <cuda.h>

#define QUERN_DRIVER_FUNCTIONS(ROW)                                       \
  ROW(Init, cuInit)                                                       \
  ROW(DriverGetVersion, cuDriverGetVersion)                               \
  ROW(GetErrorName, cuGetErrorName)                                       \
  ROW(GetErrorString, cuGetErrorString)                                   \
  ROW(DeviceGetCount, cuDeviceGetCount)                                   \
  ROW(DeviceGet, cuDeviceGet)                                             \
  ROW(DeviceGetName, cuDeviceGetName)                                     \
  ROW(DeviceGetAttribute, cuDeviceGetAttribute)                           \
  ROW(DeviceTotalMem, cuDeviceTotalMem_v2)                                \
  ROW(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                   \
  ROW(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)              \
  ROW(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState)               \
  ROW(CtxGetCurrent, cuCtxGetCurrent)                                     \
  ROW(CtxSetCurrent, cuCtxSetCurrent)                                     \
  ROW(CtxGetDevice, cuCtxGetDevice)                                       \
  ROW(CtxGetId, cuCtxGetId)                                               \
  ROW(CtxSynchronize, cuCtxSynchronize)                                   \
  ROW(LibraryLoadData, cuLibraryLoadData)                                 \
  ROW(LibraryUnload, cuLibraryUnload)                                     \
  ROW(LibraryGetKernel, cuLibraryGetKernel)                               \
  ROW(KernelGetFunction, cuKernelGetFunction)                             \
  ROW(FuncGetAttribute, cuFuncGetAttribute)                               \
  ROW(FuncSetAttribute, cuFuncSetAttribute)                               \
  ROW(OccupancyMaxBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor)    \
  ROW(LaunchKernelEx, cuLaunchKernelEx)                                   \
  ROW(MemGetInfo, cuMemGetInfo_v2)                                        \
  ROW(MemAlloc, cuMemAlloc_v2)                                            \
  ROW(MemFree, cuMemFree_v2)                                              \
  ROW(MemcpyHtoD, cuMemcpyHtoD_v2)                                        \
  ROW(MemcpyDtoH, cuMemcpyDtoH_v2)                                        \
  ROW(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                              \
  ROW(MemsetD8Async, cuMemsetD8Async)                                     \
  ROW(StreamCreate, cuStreamCreate)                                       \
  ROW(StreamDestroy, cuStreamDestroy_v2)                                  \
  ROW(StreamSynchronize, cuStreamSynchronize)                             \
  ROW(StreamIsCapturing, cuStreamIsCapturing)                             \
  ROW(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode) \
  ROW(StreamBeginCapture, cuStreamBeginCapture_v2)                        \
  ROW(StreamEndCapture, cuStreamEndCapture)                               \
  ROW(GraphGetNodes, cuGraphGetNodes)                                     \
  ROW(GraphInstantiate, cuGraphInstantiateWithFlags)                      \
  ROW(GraphUpload, cuGraphUpload)                                         \
  ROW(GraphLaunch, cuGraphLaunch)                                         \
  ROW(GraphDestroy, cuGraphDestroy)                                       \
  ROW(GraphExecDestroy, cuGraphExecDestroy)                               \
  ROW(EventCreate, cuEventCreate)                                         \
  ROW(EventRecord, cuEventRecord)                                         \
  ROW(EventSynchronize, cuEventSynchronize)                               \
  ROW(EventElapsedTime, cuEventElapsedTime)                               \
  ROW(EventDestroy, cuEventDestroy_v2)

#endif  // QUERN_DRIVER_FUNCTIONS_H_
