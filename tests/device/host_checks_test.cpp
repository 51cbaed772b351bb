// Errors that the host driver finds in kernels, and its messages.
#include <gtest/gtest.h>

#include "base/sanitizers.h"
#include "base/text.h"
#include "support/device.h"
#include "support/test_kernel.h"

namespace quern::test {
namespace {

class HostChecks : public HostTest {
 protected:
  // Runs the kernel, which must end with `result`, and returns the driver's message.
  std::string words(CUresult result, const Shape& shape, const std::string& body, const std::string& before = "",
                    int count = 64) {
    std::string said;
    {
      const TestKernel kernel(runtime().state().compiler, options().driver, body, before);
      EXPECT_EQ(kernel.outcome(shape, count), result);
      said = report();
    }
    renew_context();
    return said;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
};

#define EXPECT_SAYS(text, part) EXPECT_PRED2(has, text, part)

TEST_F(HostChecks, AStorePastTheEndNamesTheArgument) {
  const std::string said = words(CUDA_ERROR_ILLEGAL_ADDRESS, {2, 32}, R"(
    store<4>(out + blockIdx.x * 32 + threadIdx.x + 1, {{7}});)");
  EXPECT_SAYS(said, "test.cu:2: a store of 4 bytes, 0 bytes past the end of \"out\" (256 bytes)");
  EXPECT_SAYS(said, "block (1, 0, 0), thread (31, 0, 0)");
}

TEST_F(HostChecks, AStoreBeforeTheBegin) {
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1}, "store<16>(out - 4, {});"), "16 bytes before \"out\"");
}

#if !QUERN_ADDRESS_SANITIZER
// The compiler instruments accesses outside the primitives, but does not report their lines.
TEST_F(HostChecks, RawPointersAreCheckedAndNamed) {
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 32}, "out[threadIdx.x] = out[threadIdx.x + n - 1 - 32];"),
              "a raw pointer: a load of 4 bytes, 132 bytes before \"out\" (256 bytes), in block (0, 0, 0), thread (0");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 32}, "out[threadIdx.x] = out[threadIdx.x + 32];"), "never written");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 64}, "out[threadIdx.x / 2] = threadIdx.x;"), "races with");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 64}, "*buffer.at(0) = 1;", "QUERN_SHARED(int, buffer, 1);"),
              "a raw pointer: a store of 4 bytes of shared memory at byte 0 races with");
  configure("say_raw=1");
  testing::internal::CaptureStderr();
  const TestKernel raw(runtime().state().compiler, options().driver, "out[threadIdx.x] = threadIdx.x;");
  raw.run({1, 16}, 64), raw.run({1, 16}, 64);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_SAYS(said, "quern host driver: quern_test reaches \"out\" (256 bytes) by a raw pointer in block (0, 0, 0)");
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "an image reports it once: " << said;
  testing::internal::CaptureStderr();
  const TestKernel kept(runtime().state().compiler, options().driver, "store<4>(out + threadIdx.x, load<4>(out));");
  configure("check_races=0");
  kept.run({1, 16}, 64);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}
#endif

// With no checks, or where the compiler tells of nothing, the driver sees only that the memory around was written to,
// after the kernel; AddressSanitizer sees it at once.
TEST_F(HostChecks, ARawStorePastTheEnd) {
  configure("check_bounds=0 check_initialized=0 check_races=0");
  const std::string body = "out[64 + n] = 7;";
#if QUERN_ADDRESS_SANITIZER
  const TestKernel kernel(runtime().state().compiler, options().driver, body);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(kernel.outcome({1, 1}, 64), "0 bytes past the end of \"out\" .256 bytes.");
#else
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1}, body), "0 bytes past the end of \"out\" (256 bytes)");
#endif
}

// The first byte past the end, which an off-by-one comparison takes for the last.
TEST_F(HostChecks, AnAccessOfOneByteJustPastTheEnd) {
  const std::string byte = "reinterpret_cast<unsigned char*>(out) + 256";
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1}, "store<1>(" + byte + ", {});"),
              "a store of 1 byte, 0 bytes past the end of \"out\" (256 bytes)");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1}, "out[0] = load<1>(" + byte + ").w[0];"),
              "a load of 1 byte, 0 bytes past the end");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1}, "store<8>(out + 2, {});", "", 3),
              "of which the last 4 are past the end of \"out\" (12 bytes)");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1, 64}, "store_shared<1>(dynamic_shared() + 64, {});"),
              "a store of 1 byte at byte 64 of 64 of shared memory");
}

TEST_F(HostChecks, AMisalignedVector) {
  EXPECT_SAYS(words(CUDA_ERROR_MISALIGNED_ADDRESS, {1, 1}, "store<16>(out + 1, {});"), "4 past a multiple of 16");
}

TEST_F(HostChecks, AReadOfWhatWasNeverWritten) {
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 1}, "store<4>(out, load<4>(out + 8));"),
              "a load of 4 bytes that were never written, at byte 32 of \"out\"");
}

TEST_F(HostChecks, AReadOfSharedMemoryThatWasNeverWritten) {
  const std::string array = "QUERN_SHARED(int, buffer, 64);";
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 32}, "out[threadIdx.x] = buffer.get(threadIdx.x + 1);", array),
              "test.cu:1: a load of 4 bytes of shared memory that were never written, at byte 4 of 256");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 1}, "atomicAdd(buffer.at(3), 1);", array), "an atomic of 4 bytes");
  // A block does not see the shared memory of the previous block.
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {2, 1, 64}, R"(
    if (blockIdx.x == 0) store_shared<4>(dynamic_shared(), {});
    load_shared<4>(dynamic_shared());)"),
              "at byte 0 of 64, in block (1, 0, 0)");
  configure("check_initialized=0");
  words(CUDA_SUCCESS, {1, 1}, "out[0] = buffer.get(0);", array);
}

TEST_F(HostChecks, ABarrierThatNotAllReach) {
  const std::string said = words(CUDA_ERROR_LAUNCH_FAILED, {1, 64}, "if (threadIdx.x != 40) __syncthreads();");
  EXPECT_SAYS(said, "waits for a barrier that others never reach");
  EXPECT_SAYS(said, "thread (40, 0, 0) has returned");
}

TEST_F(HostChecks, ThreadsThatWaitForDifferentThings) {
  const std::string said = words(CUDA_ERROR_LAUNCH_FAILED, {1, 32}, R"(if (threadIdx.x < 4) __syncthreads();
    else __syncwarp();)");
  EXPECT_SAYS(said, "waits for a barrier that others never reach");
  EXPECT_SAYS(said, "waits for a __syncwarp at test.cu:2");
}

TEST_F(HostChecks, AShuffleFromAMissingLane) {
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 32}, "if (threadIdx.x != 9) out[0] = __shfl_sync(~0u, 1, 0);"),
              "thread (9, 0, 0) has returned");
  EXPECT_SAYS(
      words(CUDA_ERROR_LAUNCH_FAILED, {1, 32}, "if (threadIdx.x < 16) out[0] = __shfl_down_sync(0xffffu, 1, 1, 32);"),
      "reads lane 16, which the mask does not name");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 32}, "__syncwarp(0xffu);"), "a lane that its mask does not name");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {1, 40}, "__syncwarp();"), "names lane 8");
}

TEST_F(HostChecks, ARaceInSharedMemory) {
  const std::string said = words(CUDA_ERROR_LAUNCH_FAILED, {1, 64}, R"(buffer.set(threadIdx.x, 1);
    out[threadIdx.x] = buffer.get(threadIdx.x ^ 32);)",
                                 "QUERN_SHARED(int, buffer, 64);");
  EXPECT_SAYS(said, "races with block (0, 0, 0), thread");
  EXPECT_SAYS(said, "no barrier is between them");
}

TEST_F(HostChecks, SyncwarpOrdersAWarpAndNoMore) {
  const std::string body = R"(buffer.set(threadIdx.x, 1);
    __syncwarp();
    out[threadIdx.x] = buffer.get((threadIdx.x + n) % blockDim.x);)";
  const TestKernel kernel(runtime().state().compiler, options().driver, body, "QUERN_SHARED(int, buffer, 64);");
  EXPECT_EQ(kernel.outcome({1, 32}, 64, 1), CUDA_SUCCESS) << report();
  EXPECT_EQ(kernel.outcome({1, 64}, 64, 32), CUDA_ERROR_LAUNCH_FAILED);
  renew_context();
}

TEST_F(HostChecks, LanesOfOneWarpRaceWithoutASyncwarp) {
  const std::string said = words(CUDA_ERROR_LAUNCH_FAILED, {1, 32}, R"(buffer.set(threadIdx.x, 1);
    out[threadIdx.x] = buffer.get((threadIdx.x + 31) % 32);)",
                                 "QUERN_SHARED(int, buffer, 32);");
  EXPECT_SAYS(said, "races with block (0, 0, 0), thread");
}

TEST_F(HostChecks, ASharedArrayEndsWhereItEnds) {
  const char* const arrays = "QUERN_SHARED(int, first, 8);\nQUERN_SHARED(int, second, 8);";
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1}, "first.set(8, 1);", arrays),
              "test.cu:1: element 8 of an array of 8 in shared memory");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1}, "out[0] = second.get(-1);", arrays), "element -1 of an array");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, {1, 1, 64}, "store_shared<4>(dynamic_shared() + 64, {});", arrays),
              "of shared memory");
}

// A broadcast is read by all warps; the write that follows is ordered with its own warp only.
TEST_F(HostChecks, AWriteAfterABroadcastIsARace) {
  const std::string said = words(CUDA_ERROR_LAUNCH_FAILED, {1, 256}, R"(
    if (threadIdx.x == 0) buffer.set(0, 1);
    __syncthreads();
    out[threadIdx.x % 64] = buffer.get(0);
    __syncwarp();
    if (threadIdx.x == 224) buffer.set(0, 5);)",
                                 "QUERN_SHARED(int, buffer, 1);");
  EXPECT_SAYS(said, "races with");
}

TEST_F(HostChecks, BlocksOfAClusterRaceToo) {
  const TestKernel kernel(runtime().state().compiler, options().driver, R"(
    if (cluster_rank() == 0) mine.set(0, 1);
    else store_shared<4>(map_shared(mine.at(0), 0), {{2}});
    cluster_barrier();)",
                          "QUERN_SHARED(int, mine, 4);");
  Shape shape{2, 1};
  shape.cluster = 2;
  EXPECT_EQ(kernel.outcome(shape, 1), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_SAYS(report(), "races with");
  renew_context();
}

TEST_F(HostChecks, ARaceOfBlocksInDeviceMemory) {
  configure("check_initialized=0");
  const std::string said =
      words(CUDA_ERROR_LAUNCH_FAILED, {4, 1}, "const auto sum = load<4>(out);\nstore<4>(out, {{sum.w[0] + 1}});");
  EXPECT_SAYS(said, "byte 0 of \"out\" (256 bytes) races with a");
  EXPECT_SAYS(said, "blocks of a launch have no order; use atomics");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, {2, 32}, "store<4>(out + threadIdx.x, {{blockIdx.x}});"),
              "test.cu:1: a store in block");
  // One block reads a word that the other writes, in either order.
  for (const char* seed : {"seed=0", "seed=1", "seed=2", "seed=3"}) {
    configure(seed);
    words(CUDA_ERROR_LAUNCH_FAILED, {2, 1}, "if (blockIdx.x == 0) load<16>(out); else store<4>(out + 3, {});");
    words(CUDA_SUCCESS, {2, 1}, "if (blockIdx.x == 0) load<16>(out); else store<4>(out + 4, {});");
  }
}

TEST_F(HostChecks, TwoThreadsThatStoreToOneNumber) {
  const std::string said =
      words(CUDA_ERROR_LAUNCH_FAILED, {1, 64}, "store<4>(out + threadIdx.x / 2, {{threadIdx.x}});");
  EXPECT_SAYS(said,
              "test.cu:1: a store of 4 bytes at byte 0 of \"out\" (256 bytes) races with block (0, 0, 0), thread");
  EXPECT_SAYS(said, "no barrier is between them");
  words(CUDA_SUCCESS, {1, 64}, R"(
    if (threadIdx.x == 0) store<4>(out, {});
    __syncthreads();
    if (threadIdx.x == 63) store<4>(out, {});)");
  configure("check_initialized=0");
  words(CUDA_ERROR_LAUNCH_FAILED, {1, 64}, "store<4>(out + threadIdx.x, {}); load<4>(out + 63 - threadIdx.x);");
  words(CUDA_SUCCESS, {1, 64}, "store<4>(out + threadIdx.x, {}); __syncthreads(); load<4>(out + 63 - threadIdx.x);");
}

// The last block that arrives sums the values of the others; and one block waits for another's word.
TEST_F(HostChecks, WhatAtomicsOrderIsNoRace) {
  const std::string arrive = R"(
    if (threadIdx.x < 4) store<4>(out + 4 + 4 * blockIdx.x + threadIdx.x, {{1}});
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) mine.set(0, atomicAdd(out, 1) + 2);
    __syncthreads();
    if (mine.get(0) != int(gridDim.x)) return;
    __threadfence();
    int sum = 0;
    for (unsigned i = 0; i < 4 * gridDim.x; ++i) sum += load<4>(out + 4 + i).w[0];
    if (threadIdx.x == 0) store<4>(out + 1, {{u32(sum)}});)";
  const TestKernel last(runtime().state().compiler, options().driver, arrive, "QUERN_SHARED(int, mine, 1);");
  const TestKernel word(runtime().state().compiler, options().driver, R"(
    if (blockIdx.x == 0) { store<4>(out + 1, {{7}}); store_relaxed((u32*)out, 1); }
    else { while (load_relaxed((u32*)out) != 1) {} store<4>(out + 2, load<4>(out + 1)); })");
  for (int seed = 0; seed < 8; ++seed) {
    configure(cat("seed=", seed).c_str());
    EXPECT_EQ(last.run({15, 64}, 64)[1], 60);
    Shape both{2, 1};
    both.cooperative = true;
    EXPECT_EQ(word.run(both, 4)[2], 7);
  }
  configure("check_initialized=0");
  const TestKernel early(runtime().state().compiler, options().driver,
                         "store<4>(out + 1, {{u32(atomicAdd(out, 1))}});");
  EXPECT_EQ(early.outcome({2, 1}, 4), CUDA_ERROR_LAUNCH_FAILED) << "the stores come after the atomics";
  renew_context();
}

TEST_F(HostChecks, EachCheckIsOnByItself) {
  const std::string body = "buffer.set(0, threadIdx.x); if (threadIdx.x == 0) store<4>(out, {{1}});";
  const std::string before = "QUERN_SHARED(int, buffer, 1);";
  configure("check_bounds=0");
  words(CUDA_ERROR_LAUNCH_FAILED, {1, 64}, body, before);
  configure("check_races=0");
  const TestKernel same(runtime().state().compiler, options().driver, body, before);
  EXPECT_EQ(same.outcome({1, 64}, 1), CUDA_SUCCESS) << report();
}

TEST_F(HostChecks, ACounterThatManyAddToIsNoDeadWait) {
  configure("dead_wait_ms=20");
  const TestKernel kernel(runtime().state().compiler, options().driver,
                          "for (int i = 0; i < n; ++i) atomicAdd(out, 1);");
  EXPECT_EQ(kernel.run({1, 32}, 1, 50000).front(), 32 * 50000 - 1);
}

TEST_F(HostChecks, AtomicsWrap) {
  const TestKernel kernel(runtime().state().compiler, options().driver,
                          "atomicAdd(out, 0x7fffffff); atomicAdd(out, 0x7fffffff); atomicSub(out, 5);");
  EXPECT_EQ(kernel.run({1, 1}, 1).front(), -1 - 2 - 5);
}

TEST_F(HostChecks, ANamedBarrierIsForWholeWarps) {
  EXPECT_SAYS(words(CUDA_ERROR_ASSERT, {1, 32}, "barrier(1, 20);"), "a multiple of 32");
}

TEST_F(HostChecks, AnAssertionNamesItsPlace) {
  const std::string said = words(CUDA_ERROR_ASSERT, {2, 32}, R"(
    if (blockIdx.x == 1 && threadIdx.x == 3) __assertfail("n is odd", "made.cu", 12, "f", 1);)");
  EXPECT_SAYS(said, "made.cu:12: n is odd, in block (1, 0, 0), thread (3, 0, 0)");
}

TEST_F(HostChecks, AWaitForMemoryThatNeverChanges) {
  configure("dead_wait_ms=50");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_TIMEOUT, {1, 32}, R"(
    if (threadIdx.x == 0) store<4>(out, {});
    __syncthreads();
    while (atomicAdd(out, 0) != 5) {})"),
              "waits for memory that has not changed");
}

TEST_F(HostChecks, AWaitThatAnotherThreadEnds) {
  const TestKernel kernel(runtime().state().compiler, options().driver, R"(
    if (threadIdx.x == 0) while (atomicAdd(out, 0) != 30) {}
    else atomicAdd(out, 1);)");
  EXPECT_EQ(kernel.run({1, 32}, 1).front(), 30);
}

TEST_F(HostChecks, ASeedDecidesTheOrderOfThreads) {
  const TestKernel kernel(runtime().state().compiler, options().driver, R"(
    out[1 + atomicAdd(out, 1) + 1] = blockIdx.x * 64 + threadIdx.x;)");
  configure("seed=0 workers=1");
  const auto in_order = kernel.run({4, 64}, 258);
  EXPECT_TRUE(std::is_sorted(in_order.begin() + 1, in_order.end() - 1));
  configure("seed=5 workers=1");
  const auto fifth = kernel.run({4, 64}, 258);
  EXPECT_FALSE(std::is_sorted(fifth.begin() + 1, fifth.end() - 1));
  EXPECT_EQ(fifth, kernel.run({4, 64}, 258));
  configure("seed=6 workers=1");
  EXPECT_NE(fifth, kernel.run({4, 64}, 258));
}

TEST_F(HostChecks, ABrokenContextStaysBrokenUntilItIsRenewed) {
  {
    const TestKernel bad(runtime().state().compiler, options().driver, "__trap();");
    EXPECT_EQ(bad.outcome({1, 1}, 1), CUDA_ERROR_ASSERT);
    CUdeviceptr memory = 0;
    EXPECT_EQ(driver()->MemAlloc(&memory, 16), CUDA_ERROR_ASSERT);
  }
  renew_context();
  const TestKernel good(runtime().state().compiler, options().driver, "out[0] = 4;");
  EXPECT_EQ(good.run({1, 1}, 1).front(), 4);
}

TEST_F(HostChecks, MoreThanTheDeviceHasIsRefusedAtTheLaunch) {
  const TestKernel kernel(runtime().state().compiler, options().driver, "out[0] = 4;");
  EXPECT_EQ(kernel.outcome({1, 1025}, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kernel.outcome({1, 32, 49 * 1024}, 1), CUDA_ERROR_INVALID_VALUE);
  Shape uneven{3, 32};
  uneven.cluster = 2;
  EXPECT_NE(kernel.outcome(uneven, 1), CUDA_SUCCESS);
  Shape large{1 << 20, 1024};
  large.cooperative = true;
  EXPECT_EQ(kernel.outcome(large, 1), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(kernel.run({1, 1}, 1).front(), 4) << "a refused launch breaks nothing";
}

TEST_F(HostChecks, AnErrorInATemplateNamesItsLine) {
  try {
    const TestKernel kernel(runtime().state().compiler, options().driver, "int x = ;");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::compile);
    EXPECT_SAYS(error.log, "test.cu:1:");
  }
}

}  // namespace
}  // namespace quern::test
