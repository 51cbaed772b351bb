#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "unit/hostdriver/support.h"

namespace quern::host::test {
namespace {

using HostDriverContexts = HostDriver;

unsigned long long id_of(CUcontext context) {
  unsigned long long id = 0;
  EXPECT_OK(cuCtxGetId(context, &id));
  return id;
}

TEST_F(HostDriverContexts, DevicesAreThoseOfTheSettings) {
  CUcontext context = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&context));
  EXPECT_EQ(quernHostConfigure("devices=2"), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_OK(quernHostConfigure("arch=90,75 multiprocessors=2,3"));
  int count = 0;
  int value = 0;
  EXPECT_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  EXPECT_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
  EXPECT_EQ(value, 7);
  EXPECT_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1));
  EXPECT_EQ(value, 3);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(HostDriverContexts, APrimaryContextMadeAnewHasItsHandleAndAnotherId) {
  CUcontext first = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&first));
  const unsigned long long id = id_of(first);
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUcontext second = nullptr;
  EXPECT_OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second);
  EXPECT_NE(id_of(second), id);
}

TEST_F(HostDriverContexts, AReleasedPrimaryContextStillTellsItsDeviceAndCanBeMadeCurrent) {
  CUcontext context = nullptr;
  CUcontext current = nullptr;
  CUdevice device = -1;
  EXPECT_OK(cuCtxGetCurrent(&context));
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_OK(cuCtxSetCurrent(context));
  EXPECT_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(HostDriverContexts, AReleasedPrimaryContextHasNoId) {
  CUcontext context = nullptr;
  unsigned long long id = 0;
  EXPECT_OK(cuCtxGetCurrent(&context));
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_EQ(cuCtxGetId(context, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxGetId(nullptr, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(HostDriverContexts, AContextOfOnesOwnThatWasDestroyedIsNoContext) {
  CUcontext own = nullptr;
  unsigned long long id = 0;
  EXPECT_OK(cuCtxCreate_v2(&own, 0, 0));
  EXPECT_OK(cuCtxDestroy_v2(own));
  EXPECT_EQ(cuCtxGetId(own, &id), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(own), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(HostDriverContexts, ReleasingThePrimaryContextFreesWhatWasInIt) {
  allocate(64);
  CUstream stream = nullptr;
  CUevent event = nullptr;
  EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  EXPECT_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  EXPECT_EQ(quernHostAlive(nullptr), 4u);
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_EQ(quernHostAlive(nullptr), 0u);
}

TEST_F(HostDriverContexts, TheStackOfCurrentContextsIsTheThreads) {
  CUcontext primary = nullptr;
  CUcontext own = nullptr;
  CUcontext current = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&primary));
  EXPECT_OK(cuCtxCreate_v2(&own, 0, 0));
  EXPECT_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, own);
  std::thread([] {
    CUcontext here = nullptr;
    EXPECT_OK(cuCtxGetCurrent(&here));
    EXPECT_EQ(here, nullptr);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  EXPECT_OK(cuCtxPopCurrent_v2(&current));
  EXPECT_EQ(current, own);
  EXPECT_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, primary);
  EXPECT_OK(cuCtxDestroy_v2(own));
  EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxPushCurrent_v2(own), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy_v2(primary), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(HostDriverContexts, AForkedChildIsNotInitialized) {
  const pid_t child = fork();
  if (child == 0) _exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(HostDriverContexts, NamesOfErrors) {
  const char* text = nullptr;
  EXPECT_OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
}

TEST_F(HostDriverContexts, WhatIsMissingIsRefusedByName) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, ""), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(last_report_text().find("cuModuleLoadData"), std::string::npos);
  void* address = nullptr;
  EXPECT_OK(cuGetProcAddress_v2("cuMemAlloc", &address, 12000, 0, nullptr));
  EXPECT_EQ(address, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuNothing", &address, 12000, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}

// The process exits while a stream's thread is at work and contexts, streams and memory are alive.
TEST(HostDriverProcessDeathTest, EndsWhileWorkIsRunning) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        CUcontext context = nullptr;
        CUstream stream = nullptr;
        CUdeviceptr memory = 0;
        cuInit(0);
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxSetCurrent(context);
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
        cuMemAlloc_v2(&memory, std::size_t{1} << 24);
        for (int i = 0; i < 200; ++i) cuMemsetD8Async(memory, 1, std::size_t{1} << 24, stream);
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(HostDriverProcessDeathTest, NothingWorksBeforeInit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(HostDriverProcessDeathTest, AWrongEnvironmentIsReportedByInit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("QUERN_HOSTDRIVER", "colour=blue", 1);
        const bool refused = cuInit(0) == CUDA_ERROR_INVALID_VALUE;
        std::exit(refused && last_report_text().find("colour") != std::string::npos ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace quern::host::test
