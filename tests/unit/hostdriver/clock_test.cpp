#include "hostdriver/exec/clock.h"

#include "unit/hostdriver/support.h"

namespace quern::host::test {
namespace {

constexpr std::int64_t kMemory = 10;  // bytes per microsecond
constexpr std::int64_t kL2 = 1000;

Traffic reads(std::uintptr_t begin, std::uintptr_t bytes) { return {{{begin, begin + bytes}}, {}}; }

std::int64_t cold_bytes(Clock& clock, const Traffic& traffic) {
  // 1 ns per byte of memory; L2 hits cost nothing here.
  return clock.ns(traffic, 1000, std::int64_t{1} << 60);
}

TEST(HostClock, WhatTheL2HoldsIsFasterAndWhatWasNotUsedForLongestGoes) {
  Clock clock(1000);
  EXPECT_EQ(clock.ns(reads(0, 600), kMemory, kL2), 60000);
  EXPECT_EQ(clock.ns(reads(0, 600), kMemory, kL2), 600);
  EXPECT_EQ(cold_bytes(clock, reads(5000, 600)), 600);
  EXPECT_EQ(cold_bytes(clock, reads(200, 400)), 0) << "200 bytes of the first went";
  EXPECT_EQ(cold_bytes(clock, reads(0, 200)), 200);
}

TEST(HostClock, APartThatIsHeldIsNotMovedAgain) {
  Clock clock(1000);
  EXPECT_EQ(cold_bytes(clock, reads(100, 100)), 100);
  EXPECT_EQ(cold_bytes(clock, reads(0, 300)), 200);
}

TEST(HostClock, ASpanLargerThanTheL2LeavesItsEnd) {
  Clock clock(1000);
  EXPECT_EQ(cold_bytes(clock, reads(0, 5000)), 5000);
  EXPECT_EQ(cold_bytes(clock, reads(0, 5000)), 5000) << "its start was evicted before its end was read";
  EXPECT_EQ(cold_bytes(clock, reads(4000, 1000)), 0);
}

TEST(HostClock, WritesCountLikeReads) {
  Clock clock(1000);
  EXPECT_EQ(cold_bytes(clock, {{{0, 100}}, {{500, 700}}}), 300);
  EXPECT_EQ(cold_bytes(clock, {{{0, 100}}, {{0, 100}}}), 0);
}

// With a clock of 100 bytes per microsecond, 400 for copies.
class HostClockEvents : public HostDriver {
 protected:
  void SetUp() override {
    HostDriver::SetUp();
    EXPECT_OK(quernHostConfigure("memory_rate=100 copy_rate=400 drift_percent=10"));
    EXPECT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    for (CUevent& event : events_) EXPECT_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  }
  void TearDown() override {
    for (CUevent event : events_) EXPECT_OK(cuEventDestroy_v2(event));
    EXPECT_OK(cuStreamDestroy_v2(stream_));
    EXPECT_OK(quernHostConfigure("defaults"));
    HostDriver::TearDown();
  }
  template <class Work>
  double us(const Work& work) {
    float milliseconds = -1;
    EXPECT_OK(cuEventRecord(events_[0], stream_));
    work();
    EXPECT_OK(cuEventRecord(events_[1], stream_));
    EXPECT_OK(cuEventSynchronize(events_[1]));
    EXPECT_OK(cuEventElapsedTime(&milliseconds, events_[0], events_[1]));
    return 1000.0 * static_cast<double>(milliseconds);
  }
  CUstream stream_ = nullptr;
  CUevent events_[2]{};
};

TEST_F(HostClockEvents, TellTheBytesThatWereMoved) {
  EXPECT_EQ(quernHostTellsTime(), 1);
  const CUdeviceptr memory = allocate(80000);
  EXPECT_NEAR(us([&] { EXPECT_OK(cuMemsetD8Async(memory, 1, 40000, stream_)); }), 100, 0.01);
  EXPECT_NEAR(us([&] { EXPECT_OK(cuMemcpyDtoDAsync_v2(memory + 40000, memory, 40000, stream_)); }), 500, 0.01)
      << "40,000 bytes that the L2 holds, at memory's rate, and as many that the copy writes";
  EXPECT_NEAR(us([] {}), 0, 0.01);
}

TEST_F(HostClockEvents, OfAGraphDriftAndAreTimedWithoutTheWork) {
  const CUdeviceptr memory = allocate(40000);
  EXPECT_OK(cuMemsetD8Async(memory, 1, 40000, stream_));
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_OK(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_OK(cuMemsetD8Async(memory, 2, 40000, stream_));
  EXPECT_OK(cuStreamEndCapture(stream_, &graph));
  EXPECT_OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  const auto launch = [&] { EXPECT_OK(cuGraphLaunch(executable, stream_)); };
  EXPECT_NEAR(us(launch), 400, 0.01);
  EXPECT_NEAR(us(launch), 440, 0.01);
  EXPECT_NEAR(us(launch), 480, 0.01);
  EXPECT_EQ(read(memory), 0x01010101u);
  EXPECT_OK(cuGraphExecDestroy(executable));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(HostClockEvents, AreThoseOfTheCpuWithoutAClock) {
  EXPECT_OK(quernHostConfigure("memory_rate=0"));
  EXPECT_EQ(quernHostTellsTime(), 0);
  const CUfunction function = load();
  const CUdeviceptr memory = allocate(4);
  EXPECT_GE(us([&] { EXPECT_OK(launch(function, stream_, store_late(memory, 1, 5))); }), 5000);
}

}  // namespace
}  // namespace quern::host::test
