// What threads do together, on whichever device this is: the host driver's twins must agree with the GPU.
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "base/text.h"
#include "common/geometry.h"
#include "support/device.h"
#include "support/test_kernel.h"

namespace quern::test {
namespace {

// A test's kernel reads its own stores by bulk copy, which needs a fence that no family needs.
const std::string kFenceGlobal = R"(
QUERN_DEVICE void fence_global() {
#ifdef __CUDA_ARCH__
  asm volatile("fence.proxy.async;" ::: "memory");
#endif
})";

class Primitives : public DeviceTest {
 protected:
  TestKernel kernel(const std::string& body, const std::string& before = "") {
    return TestKernel(runtime().state().compiler, options().driver, body, before);
  }
  static std::vector<int> numbers(int count, auto f) {
    std::vector<int> all(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = f(i);
    return all;
  }
};

TEST_F(Primitives, ThreadsKnowWhoTheyAre) {
  const auto k = kernel(
      "const int i = blockIdx.x * blockDim.x + threadIdx.x;"
      "out[i] = blockIdx.x * 1000 + threadIdx.x + 100000 * (gridDim.x + warpSize);");
  EXPECT_EQ(k.run({3, 40}, 120), numbers(120, [](int i) { return i / 40 * 1000 + i % 40 + 3500000; }));
}

TEST_F(Primitives, Shuffles) {
  const auto k = kernel(R"(const int t = threadIdx.x, lane = t % 32;
    out[t] = __shfl_sync(~0u, t, lane + 5);
    out[64 + t] = __shfl_up_sync(~0u, t, 3);
    out[128 + t] = __shfl_down_sync(~0u, t, 3);
    out[192 + t] = __shfl_xor_sync(~0u, t, 7);
    out[256 + t] = __shfl_sync(~0u, t, 1, 8);
    out[320 + t] = __shfl_up_sync(~0u, t, 2, 8);
    out[384 + t] = __shfl_down_sync(~0u, t, 2, 8);
    out[448 + t] = int(__shfl_xor_sync(~0u, 0.5 * t, 1) * 2);)");
  const auto got = k.run({1, 64}, 512);
  for (int t = 0; t < 64; ++t) {
    const int warp = t & ~31, lane = t % 32, group = t & ~7;
    const int expected[] = {warp + (lane + 5) % 32,
                            lane < 3 ? t : t - 3,
                            lane > 28 ? t : t + 3,
                            t ^ 7,
                            group + 1,
                            t % 8 < 2 ? t : t - 2,
                            t % 8 > 5 ? t : t + 2,
                            t ^ 1};
    for (int i = 0; i < 8; ++i) EXPECT_EQ(got[static_cast<std::size_t>(64 * i + t)], expected[i]) << i << " " << t;
  }
}

TEST_F(Primitives, VotesMatchesAndReductionsOfPartOfAWarp) {
  const auto k = kernel(R"(const int t = threadIdx.x;
    const unsigned odd = 0xaaaaaaaau;
    out[t] = 0;
    if (t % 2 == 1) {
      out[t] = __ballot_sync(odd, t > 16) >> 1 ^ __any_sync(odd, t == 4) ^ __all_sync(odd, t < 32) << 1;
      out[32 + t] = __match_any_sync(odd, t / 8);
      out[64 + t] = __reduce_add_sync(odd, unsigned(t)) + 1000 * __reduce_max_sync(odd, t - 20);
      out[96 + t] = __reduce_min_sync(odd, t - 20) + 1000 * __reduce_or_sync(odd, unsigned(t & 12));
      __syncwarp(odd);
    })");
  const auto got = k.run({1, 32}, 128);
  EXPECT_EQ(got[1], static_cast<int>((0xaaaa0000u >> 1) ^ 2));
  EXPECT_EQ(got[2], 0);
  EXPECT_EQ(got[32 + 9], 0xaa00);
  EXPECT_EQ(got[64 + 31], 256 + 11000);
  EXPECT_EQ(got[96 + 3], -19 + 12000);
}

// Each lane has its numbers where PTX says, in two warps that have other ones. All sums are exact.
TEST_F(Primitives, TensorCoresMultiplySmallMatrices) {
  for (const char* type : {"Bf16", "Fp16"}) {
    const auto k = kernel(cat("using T = ", type, R"(;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const auto a_at = [&](int m, int k) { return float((m * 5 + k * 3 + m * k + warp) % 11 - 5) / 4; };
    const auto b_at = [&](int k, int n) { return float((k * 7 + n * 2 + k * n + warp) % 13 - 6) / 2; };
    const auto a_pair = [&](int m, int k) { return T::encode2(a_at(m, k), a_at(m, k + 1)); };
    const auto b_pair = [&](int k, int n) { return T::encode2(b_at(k, n), b_at(k + 1, n)); };
    const u32 a[4] = {a_pair(g, 2 * t), a_pair(g + 8, 2 * t), a_pair(g, 2 * t + 8), a_pair(g + 8, 2 * t + 8)};
    const u32 b[2] = {b_pair(2 * t, g), b_pair(2 * t + 8, g)};
    float c[4];
    for (int i = 0; i < 4; ++i) c[i] = float((g + i / 2 * 8) * 8 + 2 * t + i % 2);
    mma_16x8x16<T>(c, a, b);
    mma_16x8x16<T>(c, a, b);
    for (int i = 0; i < 4; ++i) out[warp * 128 + (g + i / 2 * 8) * 8 + 2 * t + i % 2] = int(c[i] * 8);)"));
    const auto got = k.run({1, 64}, 256);
    for (int i = 0; i < 256; ++i) {
      const int warp = i / 128, m = i % 128 / 8, n = i % 8;
      int sum = 0;
      for (int k16 = 0; k16 < 16; ++k16)
        sum += ((m * 5 + k16 * 3 + m * k16 + warp) % 11 - 5) * ((k16 * 7 + n * 2 + k16 * n + warp) % 13 - 6);
      EXPECT_EQ(got[static_cast<std::size_t>(i)], i % 128 * 8 + 2 * sum) << type << " " << i;
    }
  }
}

TEST_F(Primitives, BarriersOrderSharedMemory) {
  const auto k = kernel(R"(const int t = threadIdx.x;
    buffer.set(t, t + n);
    __syncthreads();
    out[blockIdx.x * 256 + t] = buffer.get(255 - t);
    const int votes = __syncthreads_count(t % 3 == 0) + 1000 * __syncthreads_or(t == 77) + 2000 * __syncthreads_and(t != 0);
    if (blockIdx.x == 3) out[1024 + t] = votes;)",
                        "QUERN_SHARED(int, buffer, 256);");
  const auto got = k.run({4, 256}, 1280, 7);
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 255 - i % 256 + 7);
  for (int t = 0; t < 256; ++t) ASSERT_EQ(got[static_cast<std::size_t>(1024 + t)], 86 + 1000);
}

TEST_F(Primitives, NamedBarriersAreForSomeOfTheBlock) {
  const auto k = kernel(R"(const int t = threadIdx.x, half = t / 64;
    buffer.set(t, t);
    barrier(1 + half, 64);
    out[t] = buffer.get(half * 64 + (t + 1) % 64);)",
                        "QUERN_SHARED(int, buffer, 128);");
  EXPECT_EQ(k.run({1, 128}, 128), numbers(128, [](int t) { return t / 64 * 64 + (t + 1) % 64; }));
}

TEST_F(Primitives, DynamicSharedMemoryLiesBesideTheStatic) {
  const auto k = kernel(R"(const int t = threadIdx.x;
    u8* const more = dynamic_shared();
    fixed.set(t, t);
    store_shared<16>(more + 16 * t, {{u32(t), u32(t + 1), u32(t + 2), u32(t + 3)}});
    __syncthreads();
    const auto other = load_shared<16>(more + 16 * (31 - t));
    out[32 * blockIdx.x + t] = fixed.get(31 - t) * 1000 + int(other.w[3]);)",
                        "QUERN_SHARED(int, fixed, 32);");
  EXPECT_EQ(k.run({2, 32, 512}, 64), numbers(64, [](int t) { return (31 - t % 32) * 1000 + 34 - t % 32; }));
}

TEST_F(Primitives, BlockReductions) {
  const auto k = kernel(R"(const float v = threadIdx.x == 200 ? 1000.0f : float(threadIdx.x % 7);
    const float sum = block_sum<8>(v, partial), most = block_max<8>(v, partial);
    out[threadIdx.x] = int(sum) * 10000 + int(most);)",
                        "QUERN_SHARED(float, partial, 8);");
  int sum = 1000;
  for (int t = 0; t < 256; ++t) sum += t == 200 ? 0 : t % 7;
  EXPECT_EQ(k.run({1, 256}, 256), numbers(256, [&](int) { return sum * 10000 + 1000; }));
}

TEST_F(Primitives, Atomics) {
  const auto k = kernel(R"(
    if (threadIdx.x == 0) for (int i = 0; i < 6; ++i) counters.set(i, i == 3 ? 1 << 30 : 0);
    __syncthreads();
    atomicAdd(counters.at(0), 2);
    atomicSub(counters.at(1), 1);
    atomicMax(counters.at(2), int(threadIdx.x));
    atomicMin(counters.at(3), int(threadIdx.x) - 5);
    atomicOr(counters.at(4), 1 << threadIdx.x % 8);
    int seen = 0, was;
    do { was = seen; seen = atomicCAS(counters.at(5), was, was + 3); } while (seen != was);
    __syncthreads();
    if (threadIdx.x < 6) atomicAdd(out + threadIdx.x, counters.get(threadIdx.x) + 1);)",
                        "QUERN_SHARED(int, counters, 6);");
  const auto got = k.run({2, 128}, 6);
  EXPECT_EQ(got, (std::vector<int>{2 * 257 - 1, -2 * 127 - 1, 2 * 128 - 1, 2 * -4 - 1, 2 * 256 - 1, 2 * 385 - 1}));
}

// The block that comes last waits for words of the others that are on their way.
TEST_F(Primitives, WordsPassFromBlockToBlock) {
  const auto k = kernel(R"(u32* const words = reinterpret_cast<u32*>(out);
    store_relaxed(words + 32 * blockIdx.x + threadIdx.x, 100 * blockIdx.x + threadIdx.x + 1);
    const u32 before = add_relaxed(threadIdx.x == 0, words + 32 * 300, 1);
    if (__shfl_sync(~0u, before, 0) != 299) return;
    u32 sum = 0;
    for (u32 i = 0; i < 300; ++i) {
      u32* const word = words + 32 * i + threadIdx.x;
      sum += awaited(word, load_relaxed(word));
      store_relaxed(word, 0);
    }
    store_relaxed(words + 32 * 300, 0);
    out[32 * 301 + threadIdx.x] = int(sum);)");
  const std::vector<int> got = k.run({300, 32}, 32 * 302, 0, 0);
  EXPECT_EQ(got, numbers(32 * 302, [](int i) { return i < 32 * 301 ? 0 : 100 * 299 * 150 + 300 * (i % 32 + 1); }));
}

TEST_F(Primitives, ClustersShareTheirSharedMemory) {
  if (describe_device(driver(), 0).arch < 90) GTEST_SKIP() << "clusters came with sm_90";
  const auto k = kernel(R"(
    mine.set(threadIdx.x, int(cluster_rank() * 100 + threadIdx.x));
    cluster_barrier();
    const auto theirs = load_shared<4>(map_shared(mine.at(threadIdx.x), (cluster_rank() + 1) % 4));
    out[blockIdx.x * 32 + threadIdx.x] = int(theirs.w[0]);
    cluster_barrier();)",
                        "QUERN_SHARED(int, mine, 32);");
  Shape shape{8, 32};
  shape.cluster = 4;
  EXPECT_EQ(k.run(shape, 256), numbers(256, [](int i) { return (i / 32 + 1) % 4 * 100 + i % 32; }));
}

TEST_F(Primitives, BulkCopiesGoThroughSharedMemory) {
  if (describe_device(driver(), 0).arch < 90) GTEST_SKIP() << "bulk copies came with sm_90";
  // Eight pieces of 64 numbers go through two buffers, from the first half of out to the second.
  const auto k = kernel(R"(
    const int t = threadIdx.x;
    for (int i = t; i < 512; i += 32) store<4>(out + i, {{u32(3 * i)}});
    __threadfence();
    u8* const buffers = dynamic_shared();
    if (t == 0) {
      for (int i = 0; i < 2; ++i) mbarrier_init(came.at(i), 1);
      mbarrier_fence();
    }
    __syncwarp();
    fence_global();
    for (int i = 0; t == 0 && i < 8; ++i) {
      bulk_wait_read<1>();
      mbarrier_expect(came.at(i % 2), 256);
      bulk_load<LoadHint::once>(buffers + i % 2 * 256, out + 64 * i, 256, came.at(i % 2));
      mbarrier_wait(came.at(i % 2), i / 2 % 2);
      bulk_store<StoreHint::stream>(out + 512 + 64 * i, buffers + i % 2 * 256, 256);
      bulk_commit();
    }
    if (t == 0) bulk_wait_read<0>();)",
                        "QUERN_SHARED(u64, came, 2);\n" + kFenceGlobal);
  EXPECT_EQ(k.run({1, 32, 512}, 1024), numbers(1024, [](int i) { return 3 * (i % 512); }));
}

// Each block of a cluster sends 16 bytes to each, which know how many will come.
TEST_F(Primitives, StoresToOtherBlocksCountForTheirBarriers) {
  if (describe_device(driver(), 0).arch < 90) GTEST_SKIP() << "clusters came with sm_90";
  const auto k = kernel(R"(
    const u32 t = threadIdx.x, rank = cluster_rank();
    u8* const inbox = dynamic_shared();
    if (t == 0) {
      mbarrier_init(came.at(0), 1);
      mbarrier_expect(came.at(0), 4 * 16);
      mbarrier_publish();
    }
    cluster_arrive_relaxed();
    cluster_wait();
    if (t < 4)
      store_cluster(map_shared(inbox + 16 * rank, t), {{100 * rank + t, rank, t, 7}}, map_shared(came.at(0), t));
    mbarrier_wait(came.at(0), 0);
    if (t < 16) out[blockIdx.x * 16 + t] = int(load_shared<4>(inbox + 4 * t).w[0]);)",
                        "QUERN_SHARED(u64, came, 1);");
  Shape shape{8, 32, 64};
  shape.cluster = 4;
  const auto sent = [](int i) {
    const int to = i / 16 % 4, from = i % 16 / 4;
    const int words[] = {100 * from + to, from, to, 7};
    return words[i % 4];
  };
  EXPECT_EQ(k.run(shape, 128), numbers(128, sent));
}

// All threads wait for a copy that one of them started; a second barrier tells when they have read it.
TEST_F(Primitives, BarriersInSharedMemoryCountArrivalsAndBytes) {
  if (describe_device(driver(), 0).arch < 90) GTEST_SKIP() << "bulk copies came with sm_90";
  const auto k = kernel(R"(
    const int t = threadIdx.x;
    u8* const buffer = dynamic_shared();
    store<4>(out + t, {{u32(t)}});
    store<4>(out + 64 + t, {{u32(1000 + t)}});
    __threadfence();
    if (t == 0) {
      mbarrier_init(state.at(0), 1);
      mbarrier_init(state.at(1), 64);
      mbarrier_fence();
    }
    __syncthreads();
    fence_global();
    int sum = 0;
    for (int i = 0; i < 2; ++i) {
      if (t == 0) {
        if (i > 0) mbarrier_wait(state.at(1), i - 1);
        mbarrier_expect(state.at(0), 256);
        bulk_load(buffer, out + 64 * i, 256, state.at(0));
      }
      mbarrier_wait(state.at(0), i);
      sum += int(load_shared<4>(buffer + 4 * (63 - t)).w[0]);
      mbarrier_arrive(state.at(1));
    }
    out[128 + t] = sum;)",
                        "QUERN_SHARED(u64, state, 2);\n" + kFenceGlobal);
  const auto got = k.run({1, 64, 256}, 192);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(got[static_cast<std::size_t>(128 + t)], 1000 + 2 * (63 - t));
}

// Parts of 2^30 slots would not fit a test: here one has four rows of five, and a kernel may take fewer slots than its
// launch has.
TEST_F(Primitives, EachSlotOfSeveralPartsIsVisitedOnce) {
  constexpr int kRows = 17, kPerRow = 5;
  for (const bool persistent : {false, true}) {
    for (const int limit : {kRows * kPerRow, 33, 20, 0}) {
      common::Slots slots = common::slots_in_parts(kRows * kPerRow, kPerRow, 4 * kPerRow, 4);
      Launch launch;
      common::launch_slots(slots, 2, 4, DeviceModel{"made up", 90, 1, 2048, 0, 0}, launch);
      EXPECT_EQ(launch.grid[0], 3U);
      EXPECT_EQ(launch.grid[1], 5U);
      const std::string fields =
          cat("{", slots.per_row, ", ", slots.of_part, ", ", slots.rows_of_part, ", {", slots.by_row.magic, "u, ",
              slots.by_row.shift, "}, ", slots.last_part, ", ", slots.of_last, ", ", slots.threads, "}");
      const auto k = kernel(cat("Slots slots = ", fields, ";\nlimit_slots(slots, ", limit, R"();
      for_tiles<2, )",
                                persistent ? "true" : "false", R"(>(slots, [&](const Tile<2>& tile) {
        if (threadIdx.x == 0) atomicAdd(out + 85, 1);
        for (int i = 0; i < 2; ++i) {
          const Slot slot = tile[i];
          if (slot.inside) atomicAdd(out + slot.index, int(1 + 1000 * slot.row + slot.column));
        }
      });)"));
      const Shape shape{.blocks = persistent ? 1 : launch.grid[0], .threads = launch.block[0], .parts = launch.grid[1]};
      auto got = k.run(shape, kRows * kPerRow + 40, 0, 0);
      const int tiles = std::exchange(got[85], 0);
      if (limit == kRows * kPerRow) {
        EXPECT_EQ(tiles, persistent ? 4 * 3 + 1 : 5 * 3) << "tiles of eight slots";
      }
      EXPECT_EQ(got, numbers(kRows * kPerRow + 40,
                             [&](int i) { return i < limit ? 1 + 1000 * (i / kPerRow) + i % kPerRow : 0; }))
          << limit;
    }
  }
}

TEST_F(Primitives, AllBlocksOfACooperativeLaunchAreThereAtOnce) {
  // Each block waits until all have come.
  const auto k = kernel(R"(
    if (threadIdx.x == 0) {
      atomicAdd(out, 1);
      while (atomicAdd(out, 0) < int(gridDim.x) - 1) {}
    }
    __syncthreads();
    if (threadIdx.x == 31) out[1 + blockIdx.x] = 5;)");
  Shape shape{16, 32};
  shape.cooperative = true;
  const auto got = k.run(shape, 17);
  EXPECT_EQ(got[0], 15);
  EXPECT_EQ(std::accumulate(got.begin() + 1, got.end(), 0), 80);
}

}  // namespace
}  // namespace quern::test
