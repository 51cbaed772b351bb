// Errors that the host driver finds in kernels with bulk copies, and its messages.
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/device.h"
#include "support/test_kernel.h"

namespace quern::test {
namespace {

constexpr const char* kBarriers = "QUERN_SHARED(u64, came, 2);";

class HostBulk : public HostTest {
 protected:
  // What the driver says of a kernel of two warps, 1 KB of dynamic shared memory and 256 numbers in `out`, which must
  // end with `result`. `body` runs in thread 0, with two barriers made and `buffer` at hand; `all` in all.
  std::string words(CUresult result, const std::string& body, const std::string& all = "") {
    std::string said;
    {
      const TestKernel kernel(runtime().state().compiler, options().driver,
                              cat(R"(
        u8* const buffer = dynamic_shared();
        for (int i = threadIdx.x; i < 256; i += 64) store<4>(out + i, {{u32(i)}});
        if (threadIdx.x == 0) {
          mbarrier_init(came.at(0), 1);
          mbarrier_init(came.at(1), 1);
          mbarrier_fence();
        }
        __syncthreads();
        if (threadIdx.x == 0) {)",
                                  body, "}\n", all),
                              kBarriers);
      EXPECT_EQ(kernel.outcome({1, 64, 1024}, 256), result) << report();
      said = report();
    }
    renew_context();
    return said;
  }
  // Copies 256 bytes to `buffer` and waits.
  static constexpr const char* kLoad =
      "mbarrier_expect(came.at(0), 256); bulk_load(buffer, out, 256, came.at(0)); mbarrier_wait(came.at(0), 0);";
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
};

#define EXPECT_SAYS(text, part) EXPECT_PRED2(has, text, part)

TEST_F(HostBulk, ARightKernelPasses) {
  words(CUDA_SUCCESS, cat(kLoad, "bulk_store(out + 64, buffer, 256); bulk_commit(); bulk_wait_read<0>();"));
}

TEST_F(HostBulk, AWaitForBytesThatNeverComeIsReported) {
  const std::string said = words(CUDA_ERROR_LAUNCH_FAILED, R"(mbarrier_expect(came.at(0), 512);
    bulk_load(buffer, out, 256, came.at(0));
    mbarrier_wait(came.at(0), 0);)");
  EXPECT_SAYS(said, "test.cu:12:");
  EXPECT_SAYS(said, "waits for a barrier in shared memory that others never reach");
}

TEST_F(HostBulk, AWaitForTheWrongPhaseIsReported) {
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(kLoad, "mbarrier_wait(came.at(0), 1);")),
              "waits for a barrier in shared memory");
}

TEST_F(HostBulk, WhatNobodyWaitedForMayNotBeRead) {
  const std::string begin = "mbarrier_expect(came.at(0), 256); bulk_load(buffer, out, 256, came.at(0));";
  const std::string late = "mbarrier_wait(came.at(0), 0);";
  const std::string said =
      words(CUDA_ERROR_LAUNCH_FAILED, cat(begin, "store<4>(out, load_shared<4>(buffer + 252));", late));
  EXPECT_SAYS(said, "a load of 4 bytes of shared memory that the bulk copy at test.cu:10 has yet to write");
  EXPECT_SAYS(said, "no thread has waited for it");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED,
                    cat(begin, "bulk_store(out + 64, buffer, 256); bulk_commit(); bulk_wait_read<0>();", late)),
              "has yet to write");
  words(CUDA_SUCCESS,
        cat("store_shared<4>(buffer + 256, {});", begin, "store<4>(out, load_shared<4>(buffer + 256));", late));
}

TEST_F(HostBulk, WhatIsStillReadMayNotBeWritten) {
  const std::string store = cat(kLoad, "bulk_store(out + 64, buffer, 256); bulk_commit();");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(store, "store_shared<4>(buffer, {}); bulk_wait_read<0>();")),
              "a store of 4 bytes of shared memory that the bulk copy at test.cu:10 has yet to read");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(store, R"(bulk_wait_read<1>();
    mbarrier_expect(came.at(0), 256);
    bulk_load(buffer, out, 256, came.at(0));)")),
              "test.cu:12: a store of 256 bytes");
  words(CUDA_SUCCESS, cat(store, "load_shared<4>(buffer); bulk_wait_read<0>(); store_shared<4>(buffer, {});"));
}

TEST_F(HostBulk, AThreadMustNotEndBeforeItsCopies) {
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(kLoad, "bulk_store(out + 64, buffer, 256); bulk_commit();")),
              "the thread ends before this bulk copy has read shared memory");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(kLoad, "bulk_store(out + 64, buffer, 256); bulk_wait_read<0>();")),
              "call bulk_commit and bulk_wait_read before");
  EXPECT_SAYS(
      words(CUDA_ERROR_LAUNCH_FAILED, "mbarrier_expect(came.at(0), 256); bulk_load(buffer, out, 256, came.at(0));"),
      "the block ends before this bulk copy has arrived: no thread waits for it");
}

TEST_F(HostBulk, SizesAndAddressesAreMultiplesOf16) {
  const auto load = [&](const char* arguments) {
    return words(CUDA_ERROR_MISALIGNED_ADDRESS, cat("bulk_load(", arguments, ", came.at(0));"));
  };
  EXPECT_SAYS(load("buffer, out, 24"), "a bulk copy of 24 bytes; it moves a multiple of 16");
  EXPECT_SAYS(load("buffer, out, 0"), "a bulk copy of 0 bytes");
  EXPECT_SAYS(load("buffer + 8, out, 16"), "a bulk copy to an address that is 8 past a multiple of 16");
  EXPECT_SAYS(load("buffer, out + 1, 16"), "a bulk copy from an address that is 4 past a multiple of 16");
}

TEST_F(HostBulk, NeitherSideMayLieOutside) {
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, "bulk_load(buffer, out + 240, 128, came.at(0));"),
              "a load of 128 bytes, of which the last 64 are past the end of \"out\"");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, cat(kLoad, "bulk_store(out - 4, buffer, 32);")),
              "a store of 32 bytes, 16 bytes before \"out\"");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, "bulk_load(buffer + 1008, out, 32, came.at(0));"),
              "a bulk copy of 32 bytes to an address that is not in the block's shared memory");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, "bulk_store(out, out + 64, 32);"), "from an address that is not in");
}

TEST_F(HostBulk, BarriersAreMadeFirstAndCountWhatTheyWereMadeFor) {
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, "mbarrier_wait(reinterpret_cast<u64*>(buffer), 0);"),
              "a barrier in shared memory before its mbarrier_init");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED,
                    "mbarrier_expect(came.at(0), 256); mbarrier_arrive(came.at(0)); mbarrier_wait(came.at(0), 0);"),
              "one arrival more than the count of 1 that the barrier was initialized with");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, "mbarrier_expect(came.at(0), 1 << 20); mbarrier_wait(came.at(0), 0);"),
              "1048576 bytes in one phase of a barrier; the limit is 2^20 - 1");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, "mbarrier_init(reinterpret_cast<u64*>(out), 1);"),
              "a barrier that is not in the block's shared memory");
  EXPECT_SAYS(words(CUDA_ERROR_MISALIGNED_ADDRESS, "mbarrier_init(reinterpret_cast<u64*>(buffer + 4), 1);"),
              "a barrier at an address that is 4 past a multiple of 8");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, "mbarrier_init(came.at(0), 0);"), "needs a count of 1 or more");
}

TEST_F(HostBulk, ACopyIsOfItsThread) {
  const std::string begin = "copy_async<16>(buffer, out); copy_async<8>(buffer + 24, out + 2); ";
  words(CUDA_SUCCESS, cat(begin, "wait_for_copies(); store<4>(out + 64, load_shared<4>(buffer + 28));"));
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(begin, "load_shared<4>(buffer + 28); wait_for_copies();")),
              "a load of 4 bytes of shared memory that the copy at test.cu:10 has yet to write");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, begin),
              "the thread ends before this copy has arrived: call wait_for_copies before");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, "",
                    "if (threadIdx.x == 0) copy_async<16>(buffer, out); __syncthreads(); wait_for_copies(); "
                    "if (threadIdx.x == 32) load_shared<4>(buffer);"),
              "no barrier");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, begin, "if (threadIdx.x == 1) wait_for_copies();"),
              "the thread ends before");
  EXPECT_SAYS(words(CUDA_ERROR_MISALIGNED_ADDRESS, "copy_async<8>(buffer + 4, out); wait_for_copies();"),
              "a copy to an address that is 4 past a multiple of 8");
  EXPECT_SAYS(words(CUDA_ERROR_MISALIGNED_ADDRESS, "copy_async<16>(buffer, out + 2); wait_for_copies();"),
              "a copy from an address that is 8 past a multiple of 16");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, "copy_async<16>(buffer + 1024, out); wait_for_copies();"),
              "a copy of 16 bytes to an address that is not in the block's shared memory");
}

// Of blocks of a cluster, here of one.
TEST_F(HostBulk, StoresToOtherBlocksAreAwaitedLikeCopies) {
  const std::string send = "mbarrier_expect(came.at(0), 16); store_cluster(map_shared(buffer, 0), {}, came.at(0));";
  const std::string late = "mbarrier_wait(came.at(0), 0);";
  words(CUDA_SUCCESS, cat(send, late, "load_shared<4>(buffer);"));
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(send, "load_shared<4>(buffer);", late)),
              "a load of 4 bytes of shared memory that the store to another block at test.cu:10 has yet to write");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, send), "before this store to another block has arrived");
  EXPECT_SAYS(words(CUDA_ERROR_MISALIGNED_ADDRESS, "store_cluster(buffer + 8, {}, came.at(0));"),
              "a store to another block at an address that is 8 past a multiple of 16");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, "store_cluster(out, {}, came.at(0));"),
              "not to an address from map_shared");
  EXPECT_SAYS(words(CUDA_ERROR_ILLEGAL_ADDRESS, "store_cluster(buffer, {}, reinterpret_cast<u64*>(out));"),
              "a barrier that is not in the block's shared memory");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, cat(kLoad, "store_shared<4>(buffer, {});"),
                    "if (threadIdx.x == 32) store_cluster(buffer, {}, came.at(0));"),
              "races with block (0, 0, 0), thread");
}

// The end of a phase orders a thread's read before the next copy's write; without it there is a data race.
TEST_F(HostBulk, AReaderThatNobodyAwaitsRaces) {
  const std::string read = R"(if (threadIdx.x == 32) load_shared<4>(buffer);)";
  const std::string again = cat("if (threadIdx.x == 0) { mbarrier_expect(came.at(1), 256);\n",
                                "bulk_load(buffer, out, 256, came.at(1)); mbarrier_wait(came.at(1), 0); }");
  EXPECT_SAYS(words(CUDA_ERROR_LAUNCH_FAILED, kLoad, cat("__syncthreads();", read, "__syncwarp();", again)),
              "races with block (0, 0, 0), thread");
  words(CUDA_SUCCESS, kLoad, cat("__syncthreads();", read, "__syncthreads();", again));
}

}  // namespace
}  // namespace quern::test
