#include <thread>

#include "unit/hostdriver/support.h"

namespace quern::host::test {
namespace {

class HostDriverCaptures : public HostDriver {
 protected:
  void SetUp() override {
    HostDriver::SetUp();
    memory_ = allocate(64);
    EXPECT_OK(cuStreamCreate(&blocking_, CU_STREAM_DEFAULT));
    EXPECT_OK(cuStreamCreate(&independent_, CU_STREAM_NON_BLOCKING));
  }
  static void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    EXPECT_OK(cuStreamBeginCapture_v2(stream, mode));
  }
  static CUresult end(CUstream stream) {
    CUgraph graph = nullptr;
    const CUresult result = cuStreamEndCapture(stream, &graph);
    EXPECT_EQ(graph == nullptr, result != CUDA_SUCCESS);
    if (graph != nullptr) {
      EXPECT_OK(cuGraphDestroy(graph));
    }
    return result;
  }
  static CUstreamCaptureStatus status(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_OK(cuStreamIsCapturing(stream, &status));
    return status;
  }
  static CUevent make_event() {
    CUevent event = nullptr;
    EXPECT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
  }
  // On another thread, with the same context current.
  template <class Call>
  static CUresult elsewhere(Call&& call) {
    CUresult result = CUDA_SUCCESS;
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    std::thread([&] {
      cuCtxSetCurrent(context);
      result = call();
    }).join();
    return result;
  }
  CUdeviceptr memory_ = 0;
  CUstream blocking_ = nullptr;
  CUstream independent_ = nullptr;
};

TEST_F(HostDriverCaptures, NothingRunsUntilTheGraphIsLaunchedAndReplayReadsPresentMemory) {
  const CUfunction function = load();
  EXPECT_OK(cuMemsetD8Async(memory_, 0, 64, nullptr));
  begin(independent_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_OK(launch(function, independent_, copy(memory_ + 4, memory_)));
  EXPECT_OK(cuMemcpyDtoDAsync_v2(memory_ + 8, memory_ + 4, 4, independent_));
  EXPECT_OK(cuMemsetD8Async(memory_ + 12, 1, 4, independent_));
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  std::size_t nodes = 0;
  ASSERT_OK(cuStreamEndCapture(independent_, &graph));
  EXPECT_OK(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3u);
  EXPECT_OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  EXPECT_OK(cuGraphDestroy(graph));
  EXPECT_OK(cuGraphUpload(executable, independent_));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(read(memory_ + 12), 0u);
  for (unsigned value : {5u, 6u}) {
    EXPECT_OK(cuMemcpyHtoD_v2(memory_, &value, 4));
    EXPECT_OK(cuGraphLaunch(executable, independent_));
    EXPECT_OK(cuStreamSynchronize(independent_));
    EXPECT_EQ(read(memory_ + 8), value);
  }
  EXPECT_OK(cuGraphExecDestroy(executable));
}

TEST_F(HostDriverCaptures, TheLegacyStreamTellsOfACapturedBlockingStreamAndTheCaptureSurvives) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  begin(blocking_);
  EXPECT_EQ(cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_OK(cuStreamIsCapturing(blocking_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(end(blocking_), CUDA_SUCCESS);
  begin(independent_);
  EXPECT_OK(cuStreamIsCapturing(CU_STREAM_LEGACY, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(end(independent_), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptures, LegacyWorkBesideACapturedBlockingStreamIsRefusedAndEndsTheCapture) {
  begin(blocking_, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuMemsetD8Async(memory_, 0, 4, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuMemsetD8Async(memory_, 0, 4, blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_OK(cuMemsetD8Async(memory_, 0, 4, nullptr));
}

TEST_F(HostDriverCaptures, WaitingForACapturedStreamIsRefused) {
  begin(independent_);
  EXPECT_EQ(cuStreamSynchronize(independent_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(independent_);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(HostDriverCaptures, UnsafeCallsAreForbiddenByModeAndThread) {
  CUdeviceptr other = 0;
  const auto allocate_other = [&] { return cuMemAlloc_v2(&other, 4); };
  begin(independent_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(elsewhere(allocate_other), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&other, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(independent_, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(elsewhere(allocate_other), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(independent_, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_OK(cuMemAlloc_v2(&other, 4));
  EXPECT_EQ(end(independent_), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptures, AskingForAnEventIsUnsafe) {
  const CUevent event = make_event();
  EXPECT_OK(cuEventRecord(event, blocking_));
  for (const auto ask : {cuEventQuery, cuEventSynchronize}) {
    begin(independent_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(ask(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_OK(cuEventSynchronize(event));
  }
}

TEST_F(HostDriverCaptures, AskingForAnotherStreamIsUnsafe) {
  for (const auto ask : {cuStreamQuery, cuStreamSynchronize})
    for (const CUstream other : {blocking_, CUstream{nullptr}}) {
      begin(independent_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
      EXPECT_EQ(elsewhere([&] { return ask(other); }), CUDA_SUCCESS);
      EXPECT_EQ(ask(other), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
      begin(independent_, CU_STREAM_CAPTURE_MODE_RELAXED);
      EXPECT_OK(ask(other));
      EXPECT_EQ(end(independent_), CUDA_SUCCESS);
    }
}

TEST_F(HostDriverCaptures, WaitingForTheLegacyStreamBesideACapturedBlockingStreamIsRefused) {
  begin(blocking_, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(end(blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(HostDriverCaptures, CopiesThatWaitAreAllowedUnlessABlockingStreamIsCaptured) {
  unsigned value = 7;
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    begin(independent_, mode);
    EXPECT_OK(cuMemcpyHtoD_v2(memory_, &value, 4));
    EXPECT_EQ(read(memory_), value++);
    EXPECT_EQ(end(independent_), CUDA_SUCCESS);
    begin(blocking_, mode);
    EXPECT_EQ(cuMemcpyHtoD_v2(memory_, &value, 4), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(end(blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

// As on an H200 (driver 580), in every mode and on every thread.
TEST_F(HostDriverCaptures, LoadingIsNotForbiddenAndUnloadingIs) {
  CUlibrary library = nullptr;
  CUlibrary other = nullptr;
  const auto load = [](CUlibrary* loaded) {
    return cuLibraryLoadData(loaded, test_image().data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  for (const CUstream stream : {independent_, blocking_}) {
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_OK(load(&library));
    EXPECT_EQ(elsewhere([&] { return load(&other); }), CUDA_SUCCESS);
    EXPECT_EQ(end(stream), CUDA_SUCCESS);
    EXPECT_OK(cuLibraryUnload(other));
    begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_OK(cuLibraryUnload(library));
    EXPECT_EQ(end(stream), CUDA_SUCCESS);
  }
}

TEST_F(HostDriverCaptures, BeginAndEndMustMatch) {
  EXPECT_EQ(end(independent_), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin(independent_);
  EXPECT_EQ(cuStreamBeginCapture_v2(independent_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(end(independent_), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptures, AnEndByAnotherThreadIsRefusedAndTheCaptureIsOver) {
  begin(independent_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(elsewhere([&] { return end(independent_); }), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_EQ(status(independent_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(end(independent_), CUDA_ERROR_ILLEGAL_STATE);
  begin(independent_, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(elsewhere([&] { return end(independent_); }), CUDA_SUCCESS);
}

TEST_F(HostDriverCaptures, AnEndByAForkedStreamMakesTheCaptureInvalid) {
  const CUevent fork = make_event();
  const CUevent before = make_event();
  EXPECT_OK(cuEventRecord(before, blocking_));
  begin(independent_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_OK(cuEventRecord(fork, independent_));
  EXPECT_OK(cuStreamWaitEvent(blocking_, fork, 0));
  EXPECT_EQ(end(blocking_), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(status(independent_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(cuEventRecord(before, blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // Not ISOLATION, though the event's last recording was outside of the capture.
  EXPECT_EQ(cuStreamWaitEvent(independent_, before, 0), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(HostDriverCaptures, AForkIntoTheLegacyStreamMakesTheCaptureInvalid) {
  const CUevent fork = make_event();
  begin(independent_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_OK(cuEventRecord(fork, independent_));
  EXPECT_EQ(cuStreamWaitEvent(nullptr, fork, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(HostDriverCaptures, AnEventOfAnInvalidCaptureIsAnInvalidValue) {
  const CUevent event = make_event();
  begin(independent_, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_OK(cuEventRecord(event, independent_));
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitEvent(blocking_, event, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuEventRecord(event, blocking_));
  EXPECT_OK(cuEventSynchronize(event));
}

TEST_F(HostDriverCaptures, EventsForkAndJoin) {
  const CUevent fork = make_event();
  const CUevent join = make_event();
  const auto record = [&](bool joined) {
    begin(independent_);
    EXPECT_OK(cuMemsetD8Async(memory_, 1, 4, independent_));
    EXPECT_OK(cuEventRecord(fork, independent_));
    EXPECT_OK(cuStreamWaitEvent(blocking_, fork, 0));
    EXPECT_OK(cuMemsetD8Async(memory_ + 4, 2, 4, blocking_));
    EXPECT_OK(cuEventRecord(join, blocking_));
    if (joined) {
      EXPECT_OK(cuStreamWaitEvent(independent_, join, 0));
    }
  };
  record(false);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  record(true);
  EXPECT_EQ(end(independent_), CUDA_SUCCESS);
  // Twice: the refusal does not change the state of the ended capture.
  EXPECT_EQ(cuEventSynchronize(join), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuEventSynchronize(join), CUDA_ERROR_CAPTURED_EVENT);
}

TEST_F(HostDriverCaptures, WhatCrossesTheBorderOfACaptureIsRefused) {
  const CUevent event = make_event();
  EXPECT_OK(cuEventRecord(event, blocking_));
  begin(independent_);
  EXPECT_EQ(cuStreamWaitEvent(independent_, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(independent_);
  begin(blocking_);
  EXPECT_OK(cuEventRecord(event, blocking_));
  EXPECT_EQ(cuStreamWaitEvent(independent_, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(end(independent_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(blocking_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(HostDriverCaptures, AGraphWhoseLibraryIsGoneIsRefused) {
  const CUfunction function = load();
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  begin(independent_);
  EXPECT_OK(launch(function, independent_, store(memory_, 1)));
  ASSERT_OK(cuStreamEndCapture(independent_, &graph));
  EXPECT_OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  EXPECT_OK(cuLibraryUnload(library()));
  EXPECT_EQ(cuGraphLaunch(executable, independent_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuGraphExecDestroy(executable));
  EXPECT_OK(cuGraphDestroy(graph));
}

}  // namespace
}  // namespace quern::host::test
