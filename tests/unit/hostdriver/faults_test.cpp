#include "hostdriver/api/faults.h"

#include <chrono>

#include "unit/hostdriver/support.h"

namespace quern::host::test {
namespace {

using HostDriverFaults = HostDriver;

TEST_F(HostDriverFaults, TheNthCallFailsAndOnlyThatOne) {
  EXPECT_OK(quernHostInject("fail cuMemAlloc_v2 nth=2 code=2"));
  const unsigned long long before = quernHostCalls("cuMemAlloc_v2");
  CUdeviceptr memory = 0;
  EXPECT_OK(cuMemAlloc_v2(&memory, 4));
  EXPECT_EQ(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(last_report_text().find("cuMemAlloc_v2: an injected fault"), std::string::npos);
  EXPECT_OK(cuMemAlloc_v2(&memory, 4));
  EXPECT_EQ(quernHostCalls("cuMemAlloc_v2"), before + 3);
  EXPECT_EQ(quernHostAlive("allocations"), 2u);
}

TEST_F(HostDriverFaults, ADelayedCallTakesItsTime) {
  EXPECT_OK(quernHostInject("delay cuCtxSynchronize us=20000"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

TEST_F(HostDriverFaults, AKilledKernelDoesNothingAndItsFailureComesLater) {
  const CUfunction function = load();
  const CUdeviceptr out = allocate(4);
  EXPECT_OK(cuMemsetD8Async(out, 0, 4, nullptr));
  EXPECT_OK(quernHostInject("kill kernel nth=2"));
  EXPECT_OK(launch(function, nullptr, store(out, 1)));
  EXPECT_EQ(read(out), 1u);
  launch(function, nullptr, store(out, 2));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(last_report_text().find("act: killed"), std::string::npos) << last_report_text();
}

TEST_F(HostDriverFaults, InACorruptContextReleasesReturnItsErrorButThoseOfLibrariesAndOfTheContext) {
  const CUfunction function = load();
  const CUdeviceptr out = allocate(4);
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  CUdevice device = -1;
  EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(cuCtxGetCurrent(&context));
  EXPECT_OK(quernHostInject("kill kernel nth=1"));
  launch(function, stream, store(out, 1));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemFree_v2(out), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_OK(cuLibraryUnload(library()));
  EXPECT_EQ(quernHostAlive(nullptr), 1u) << "only the context";
  EXPECT_OK(cuCtxGetDevice(&device));
  EXPECT_OK(cuCtxSetCurrent(context));
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
}

// Unlike a real driver, where a process with a failed kernel cannot use the device again.
TEST_F(HostDriverFaults, ACorruptPrimaryContextIsRenewedByReleasingItToZero) {
  const CUfunction function = load();
  CUcontext context = nullptr;
  EXPECT_OK(quernHostInject("kill kernel nth=1"));
  launch(function, nullptr, store(allocate(4), 1));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED) << "still retained";
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT_OK(cuCtxSynchronize());
  allocate(4);
}

TEST_F(HostDriverFaults, ALostDeviceIsLostUntilCleared) {
  const CUdeviceptr memory = allocate(4);
  EXPECT_OK(quernHostInject("lose device=0"));
  CUdeviceptr other = 0;
  CUcontext context = nullptr;
  int value = 0;
  EXPECT_EQ(cuMemAlloc_v2(&other, 4), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuMemFree_v2(memory), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(quernHostAlive("allocations"), 0u);
  EXPECT_OK(quernHostInject("clear"));
  EXPECT_EQ(cuMemAlloc_v2(&other, 4), CUDA_ERROR_UNKNOWN) << "the context does not come back";
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT_OK(cuCtxSetCurrent(context));
  EXPECT_OK(cuMemAlloc_v2(&other, 4));
}

TEST_F(HostDriverFaults, WhatIsNoFaultIsRefused) {
  for (const char* text : {"", "break it", "fail", "fail cuNothing", "fail cuInit code=0", "fail cuInit nth=0",
                           "fail cuInit nth=x", "fail cuInit us=3", "kill stream", "lose device=7", "clear all"})
    EXPECT_NE(quernHostInject(text), CUDA_SUCCESS) << text;
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(HostDriverFaults, AWrongSettingIsReportedAndAReportIsEmptyAfterwards) {
  EXPECT_EQ(quernHostConfigure("nonsense=1"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(last_report_text().find("nonsense"), std::string::npos);
  EXPECT_OK(quernHostConfigure("seed=3"));
  EXPECT_EQ(last_report_text(), "");
}

}  // namespace
}  // namespace quern::host::test
