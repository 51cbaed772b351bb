#include "hostdriver/exec/memory.h"

#include "unit/hostdriver/support.h"

namespace quern::host::test {
namespace {

unsigned char* bytes_at(std::uintptr_t address) { return reinterpret_cast<unsigned char*>(address); }

// A kernel's access that AddressSanitizer does not see.
[[gnu::no_sanitize_address]] void overwrite(std::uintptr_t address) { *bytes_at(address) = 0; }

TEST(HostDriverMemory, NewMemoryIsPoisonedAndCountsAsNeverWritten) {
  Memory memory(1000);
  const std::uintptr_t begin = memory.allocate(100, 1);
  EXPECT_EQ(begin % 256, 0u);
  EXPECT_EQ(bytes_at(begin)[99], 0xCD);
  EXPECT_EQ(memory.find(begin)->written[99], 0);
}

TEST(HostDriverMemory, GuardZonesAreFoundByTheirAllocation) {
  Memory memory(1000);
  const std::uintptr_t begin = memory.allocate(100, 1);
  Allocation* const allocation = memory.find(begin);
  EXPECT_EQ(memory.find(begin - 1), allocation);
  EXPECT_EQ(memory.find(begin + 100), allocation);
  EXPECT_FALSE(allocation->contains(begin + 97, 4));
  EXPECT_TRUE(allocation->contains(begin + 96, 4));
  EXPECT_EQ(memory.find(16), nullptr);
}

TEST(HostDriverMemory, DamageIsFoundOnBothSides) {
  Memory memory(1000);
  const std::uintptr_t begin = memory.allocate(100, 1);
  EXPECT_EQ(memory.damage(), "");
  overwrite(begin - 4);
  EXPECT_NE(memory.damage().find("4 bytes before"), std::string::npos) << memory.damage();
  std::string damage;
  EXPECT_TRUE(memory.free(begin, &damage));
  EXPECT_NE(damage, "");
  const std::uintptr_t other = memory.allocate(100, 1);
  overwrite(other + 100);
  EXPECT_NE(memory.damage().find("0 bytes past"), std::string::npos) << memory.damage();
}

TEST(HostDriverMemory, TheLimitHolds) {
  Memory memory(1000);
  const std::uintptr_t begin = memory.allocate(600, 1);
  EXPECT_NE(begin, 0u);
  EXPECT_EQ(memory.allocate(401, 1), 0u);
  EXPECT_FALSE(memory.free(begin + 1, nullptr));
  EXPECT_TRUE(memory.free(begin, nullptr));
  EXPECT_EQ(memory.used(), 0u);
}

TEST(HostDriverMemory, AllOfAnOwnerIsFreedAtOnce) {
  Memory memory(1000);
  memory.allocate(10, 1);
  memory.allocate(10, 2);
  memory.free_all(1);
  EXPECT_EQ(memory.count(), 1u);
}

using HostDriverCopies = HostDriver;

TEST_F(HostDriverCopies, BytesComeBack) {
  const CUdeviceptr from = allocate(64);
  const CUdeviceptr to = allocate(64);
  const unsigned value = 42;
  EXPECT_OK(cuMemcpyHtoD_v2(from + 4, &value, sizeof value));
  EXPECT_OK(cuMemcpyDtoDAsync_v2(to + 8, from + 4, sizeof value, nullptr));
  EXPECT_EQ(read(to + 8), 42u);
  EXPECT_OK(cuMemsetD8Async(to, 7, 64, nullptr));
  EXPECT_EQ(read(to + 8), 0x07070707u);
}

TEST_F(HostDriverCopies, ARangeOutsideOfItsAllocationIsRefusedByName) {
  const CUdeviceptr memory = allocate(64);
  EXPECT_OK(quernHostNameMemory(memory, "table"));
  unsigned value = 0;
  EXPECT_EQ(cuMemcpyHtoD_v2(memory + 62, &value, sizeof value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(last_report_text().find("4 bytes at byte 62 of \"table\""), std::string::npos) << last_report_text();
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, 4096, sizeof value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(memory, 0, 65, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(nullptr, memory, 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostDriverCopies, TheDevicesMemoryIsALimit) {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_OK(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(free, total);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 0), CUDA_ERROR_INVALID_VALUE);
  memory = allocate(4096);
  EXPECT_OK(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(free, total - 4096);
  EXPECT_OK(cuMemFree_v2(memory));
  EXPECT_EQ(cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace quern::host::test
