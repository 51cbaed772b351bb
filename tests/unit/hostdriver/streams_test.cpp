#include <chrono>
#include <thread>

#include "unit/hostdriver/support.h"

namespace quern::host::test {
namespace {

class HostDriverStreams : public HostDriver {
 protected:
  static CUstream make(unsigned flags) {
    CUstream stream = nullptr;
    EXPECT_OK(cuStreamCreate(&stream, flags));
    return stream;
  }
  static CUevent make_event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    EXPECT_OK(cuEventCreate(&event, flags));
    return event;
  }
};

TEST_F(HostDriverStreams, WorkOfOneStreamIsInOrder) {
  const CUfunction function = load();
  const CUdeviceptr memory = allocate(8);
  const CUstream stream = make(CU_STREAM_NON_BLOCKING);
  HeldKernels held;
  EXPECT_OK(launch(function, stream, held.store(memory, 1)));
  EXPECT_OK(launch(function, stream, copy(memory + 4, memory)));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  held.open();
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_OK(cuStreamQuery(stream));
  EXPECT_EQ(read(memory + 4), 1u);
}

TEST_F(HostDriverStreams, StreamsRunBesideEachOther) {
  const CUfunction function = load();
  const CUdeviceptr memory = allocate(8);
  const CUstream slow = make(CU_STREAM_NON_BLOCKING);
  const CUstream fast = make(CU_STREAM_NON_BLOCKING);
  HeldKernels held;
  EXPECT_OK(launch(function, slow, held.store(memory, 1)));
  EXPECT_OK(launch(function, fast, store(memory + 4, 2)));
  EXPECT_OK(cuStreamSynchronize(fast));
  EXPECT_EQ(cuStreamQuery(slow), CUDA_ERROR_NOT_READY);
  held.open();
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuStreamQuery(slow));
}

TEST_F(HostDriverStreams, TheLegacyStreamWaitsForBlockingStreamsOnlyAndTheyForIt) {
  const CUfunction function = load();
  const CUdeviceptr memory = allocate(16);
  const CUstream blocking = make(CU_STREAM_DEFAULT);
  const CUstream independent = make(CU_STREAM_NON_BLOCKING);
  HeldKernels held;
  EXPECT_OK(launch(function, independent, held.store(memory, 1)));
  EXPECT_OK(launch(function, blocking, store_late(memory + 4, 2, 10)));
  EXPECT_OK(launch(function, nullptr, copy(memory + 8, memory + 4)));
  EXPECT_OK(launch(function, blocking, copy(memory + 12, memory + 8)));
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_LEGACY));
  EXPECT_EQ(cuStreamQuery(independent), CUDA_ERROR_NOT_READY);
  held.open();
  EXPECT_EQ(read(memory + 12), 2u);
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(HostDriverStreams, ADestroyedStreamsWorkEnds) {
  const CUfunction function = load();
  const CUdeviceptr memory = allocate(4);
  const CUstream stream = make(CU_STREAM_NON_BLOCKING);
  HeldKernels held;
  EXPECT_OK(launch(function, stream, held.store(memory, 6)));
  EXPECT_OK(cuStreamDestroy_v2(stream));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  held.open();
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(read(memory), 6u);
}

TEST_F(HostDriverStreams, EventsMeasureAndOrder) {
  const CUfunction function = load();
  const CUdeviceptr memory = allocate(8);
  const CUstream first = make(CU_STREAM_NON_BLOCKING);
  const CUstream second = make(CU_STREAM_NON_BLOCKING);
  const CUevent begin = make_event();
  const CUevent end = make_event();
  EXPECT_OK(cuEventRecord(begin, first));
  HeldKernels held;
  EXPECT_OK(launch(function, first, held.store(memory, 3)));
  EXPECT_OK(cuEventRecord(end, first));
  EXPECT_OK(cuStreamWaitEvent(second, end, 0));
  EXPECT_OK(launch(function, second, copy(memory + 4, memory)));
  float milliseconds = 0;
  EXPECT_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuEventSynchronize(begin));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // at the least
  held.open();
  EXPECT_OK(cuStreamSynchronize(second));
  EXPECT_OK(cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GE(milliseconds, 1.9f);
  EXPECT_EQ(read(memory + 4), 3u);
}

TEST_F(HostDriverStreams, EventsThatCannotTellTheTimeSaySo) {
  const CUevent recorded = make_event();
  const CUevent fresh = make_event();
  const CUevent untimed = make_event(CU_EVENT_DISABLE_TIMING);
  EXPECT_OK(cuEventRecord(recorded, nullptr));
  EXPECT_OK(cuEventRecord(untimed, nullptr));
  EXPECT_OK(cuEventSynchronize(recorded));
  EXPECT_OK(cuEventSynchronize(fresh));
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, recorded, fresh), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, recorded, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuEventDestroy_v2(fresh));
  EXPECT_EQ(cuEventDestroy_v2(fresh), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(HostDriverStreams, FlagsThatAreNotThereAreRefused) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace quern::host::test
