#include "testbench/l2_flush.h"

#include <algorithm>

namespace quern {
namespace {

// As PTX, which every driver compiles at once, so that a flush needs neither NVRTC nor the image store. Each thread
// reads 16 bytes; memory that a flush has written holds zeros only, so nothing is stored.
constexpr const char* kReadLast = R"(
.version 7.4
.target sm_80
.address_size 64
.visible .entry quern_read_last(.param .u64 memory)
{
  .reg .pred %any;
  .reg .b32 %word<4>;
  .reg .b32 %block, %threads, %thread;
  .reg .b64 %at, %policy, %offset;
  ld.param.u64 %at, [memory];
  cvta.to.global.u64 %at, %at;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %thread, %block, %threads, %thread;
  mul.wide.u32 %offset, %thread, 16;
  add.u64 %at, %at, %offset;
  createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;
  ld.global.L1::evict_last.L2::cache_hint.v4.b32 {%word0, %word1, %word2, %word3}, [%at], %policy;
  or.b32 %word0, %word0, %word1;
  or.b32 %word2, %word2, %word3;
  or.b32 %word0, %word0, %word2;
  setp.ne.b32 %any, %word0, 0;
  @%any st.global.b32 [%at], %word0;
  ret;
}
)";
constexpr unsigned kThreads = 256;
constexpr std::size_t kBlockBytes = std::size_t{kThreads} * 16;

std::size_t flush_bytes(std::int64_t l2_bytes) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(128 << 20, 2 * l2_bytes));
  return bytes / kBlockBytes * kBlockBytes;
}

// Not an owner: a sampler's driver outlives it.
std::shared_ptr<const Driver> refer(const Driver& driver) { return {std::shared_ptr<const Driver>(), &driver}; }

}  // namespace

L2Flush::L2Flush(const Driver& driver, std::int64_t l2_bytes)
    : driver_(driver), bytes_(flush_bytes(l2_bytes)), memory_(driver, bytes_) {
  driver.check(driver->MemsetD8Async(memory_.get(), 0, bytes_, nullptr), Stage::tool, "cuMemsetD8Async");
  driver.check(driver->StreamSynchronize(nullptr), Stage::tool, "cuStreamSynchronize");
  if (!driver.runs_host_images()) library_ = std::make_unique<Library>(refer(driver), kReadLast, "quern_read_last");
}

void L2Flush::enqueue(CUstream stream) const {
  if (library_) {
    CUdeviceptr memory = memory_.get();
    void* parameters[] = {&memory};
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>(bytes_ / kBlockBytes);
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = kThreads;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    driver_.check(driver_->LaunchKernelEx(&config, library_->function(), parameters, nullptr), Stage::tool,
                  "cuLaunchKernelEx");
  }
  driver_.check(driver_->MemsetD8Async(memory_.get(), 0, bytes_, stream), Stage::tool, "cuMemsetD8Async");
}

}  // namespace quern
