#include "unit/hostdriver/support.h"

namespace quern::host::test {
namespace {

class HostDriverLaunches : public HostDriver {
 protected:
  CUresult launch_with(CUfunction function, CUlaunchConfig config, CUdeviceptr out) {
    const CUresult result = launch(function, nullptr, store(out, 1), config);
    EXPECT_OK(cuCtxSynchronize());
    return result;
  }
};

TEST_F(HostDriverLaunches, TheParameterIsCopiedAtTheCall) {
  const CUfunction function = load();
  const CUdeviceptr out = allocate(4);
  EXPECT_OK(launch(function, nullptr, store_late(out, 5, 10)));
  EXPECT_EQ(read(out), 5u);
  EXPECT_GE(quernHostCalls("kernel"), 1u);
}

TEST_F(HostDriverLaunches, GeometryIsChecked) {
  const CUfunction function = load();
  const CUdeviceptr out = allocate(4);
  const auto with = [&](auto change) {
    CUlaunchConfig config = one_thread();
    change(config);
    return launch_with(function, config, out);
  };
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.blockDimX = 128; }), CUDA_SUCCESS);
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.blockDimX = 129; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.blockDimY = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.gridDimY = 65536; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.gridDimX = 1u << 31; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.gridDimX = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.sharedMemBytes = 48 * 1024; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
  EXPECT_EQ(with([](CUlaunchConfig& c) { c.sharedMemBytes = 48 * 1024; }), CUDA_SUCCESS);
}

TEST_F(HostDriverLaunches, AttributesAreAppliedOrRefusedByNumber) {
  const CUfunction function = load();
  const CUdeviceptr out = allocate(4);
  CUlaunchAttribute attribute{};
  CUlaunchConfig config = one_thread();
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  EXPECT_EQ(launch_with(function, config, out), CUDA_SUCCESS);
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  EXPECT_EQ(launch_with(function, config, out), CUDA_ERROR_NOT_SUPPORTED);
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  config.gridDimX = 8 * 32;
  EXPECT_EQ(launch_with(function, config, out), CUDA_SUCCESS);
  config.gridDimX = 8 * 32 + 1;
  EXPECT_EQ(launch_with(function, config, out), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {2, 1, 1};
  config.gridDimX = 3;
  EXPECT_EQ(launch_with(function, config, out), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  config.gridDimX = 4;
  EXPECT_EQ(launch_with(function, config, out), CUDA_SUCCESS);
  attribute.value.clusterDim = {16, 1, 1};
  config.gridDimX = 16;
  EXPECT_EQ(launch_with(function, config, out), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

TEST_F(HostDriverLaunches, AFunctionBelongsToItsContext) {
  const CUfunction function = load();
  CUcontext own = nullptr;
  EXPECT_OK(cuCtxCreate_v2(&own, 0, 0));
  EXPECT_EQ(launch(function, nullptr, Act{}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuCtxDestroy_v2(own));
  CUlaunchConfig config = one_thread();
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, function, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernelEx(&config, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

// The plain store is not checked, so the guard zone detects it.
TEST_F(HostDriverLaunches, AKernelThatWritesPastItsMemoryCorruptsTheContextUntilItIsMadeAnew) {
  const CUfunction function = load();
  const CUdeviceptr out = allocate(64);
  EXPECT_OK(quernHostNameMemory(out, "sums"));
  EXPECT_OK(launch(function, nullptr, store(out + 64, 1)));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(last_report_text().find("past the end of \"sums\""), std::string::npos) << last_report_text();
  CUdeviceptr other = 0;
  EXPECT_EQ(cuMemAlloc_v2(&other, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(launch(function, nullptr, store(out, 1)), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUcontext context = nullptr;
  EXPECT_OK(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT_OK(cuCtxSetCurrent(context));
  EXPECT_OK(cuMemAlloc_v2(&other, 4));
}

TEST_F(HostDriverLaunches, InACorruptContextThingsAreStillReleased) {
  const CUfunction function = load();
  const CUdeviceptr out = allocate(64);
  CUstream stream = nullptr;
  EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(quernHostInject("kill kernel nth=1"));
  EXPECT_OK(launch(function, stream, store(out, 1)));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemFree_v2(out), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(quernHostAlive("allocations"), 0u);
  EXPECT_EQ(quernHostAlive("streams"), 0u);
}

}  // namespace
}  // namespace quern::host::test
