#include "commands/occupancy.h"

#include <algorithm>

#include "plan/problem.h"

namespace quern::tool {
namespace {

constexpr std::int64_t kLarge = 1 << 16;
constexpr int kRegisters = 65536;           // of a multiprocessor, on every architecture from sm_80 on
constexpr int kRegistersAUnit = 256;        // a warp's are given out in such units
constexpr int kSharedBytesOfSystem = 1024;  // a block's, from sm_80 on

int most_blocks(int arch) {
  if (arch == 86) return 16;
  return arch == 89 || arch >= 120 ? 24 : 32;
}

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Block block_of(const Subject& subject, const DeviceModel& model, const Config& config) {
  AnyProblem closed = subject.problem;
  for (const Field* field : open_extents(closed)) set_integer(*field, closed.data(), kLarge);
  AnyArgs args = subject.scalars;
  args.set_extents(closed.data());
  Launch launch;
  subject.family().launch(closed.data(), args.data(), model, config, launch);
  return {static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]), static_cast<int>(launch.shared_bytes)};
}

int blocks_that_fit(const Resources& resources, const Block& block, const DeviceModel& model) {
  const int warps = (std::max(1, block.threads) + 31) / 32;
  const int registers_a_warp = round_up(std::max(1, resources.registers) * 32, kRegistersAUnit);
  const int by_registers = kRegisters / registers_a_warp / warps;
  const int by_threads = model.threads_per_multiprocessor / (32 * warps);
  const int shared = resources.shared_bytes + block.shared_bytes + kSharedBytesOfSystem;
  const auto by_shared = static_cast<int>(model.shared_bytes_per_multiprocessor / shared);
  return std::min({by_registers, by_threads, by_shared, most_blocks(model.arch)});
}

}  // namespace quern::tool
