// Launch geometry of kernels that process slots. Host code.
#ifndef QUERN_COMMON_GEOMETRY_H_
#define QUERN_COMMON_GEOMETRY_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/slots.cuh"
#include "quern/family.h"

namespace quern::common {

// The widest block that such kernels are compiled for.
inline constexpr int kMaxThreads = 512;

// Blocks of `threads` threads; narrower blocks, of a warp for each scheduler, if a small problem would leave
// multiprocessors idle. Two blocks per multiprocessor are enough to keep all of them loading. A copy of 43 kB on an
// H200 takes 1.42 us in blocks of 128 or 256, 1.44 of 64 and 1.48 of 32.
inline constexpr int kLeastThreads = 128;
inline void launch_slots(std::uint64_t slots, int unroll, int threads, const DeviceModel& model, Launch& launch) {
  const auto blocks = [&](int width) {
    const std::uint64_t tile = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(unroll);
    return (slots + tile - 1) / tile;
  };
  while (threads > kLeastThreads && blocks(threads) < 2 * static_cast<std::uint64_t>(model.multiprocessors))
    threads /= 2;
  launch.empty = slots == 0;
  launch.block[0] = static_cast<std::uint32_t>(threads);
  launch.grid[0] =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks(threads), std::numeric_limits<std::uint32_t>::max()));
}

// Of those slots, in their parts.
inline void launch_slots(Slots& slots, int unroll, int threads, const DeviceModel& model, Launch& launch) {
  launch_slots(slots.last_part == 0 ? slots.of_last : slots.of_part, unroll, threads, model, launch);
  slots.threads = launch.block[0];
  launch.grid[1] = slots.last_part + 1;  // one more than the driver takes is refused before the launch
}

// The capacity of a multiprocessor of the architecture, for constraints: the device itself is not known yet.
inline std::int32_t resident_threads(const Target& target) {
  return target.arch == 80 || (target.arch >= 90 && target.arch < 120) ? 2048 : 1536;
}
inline std::int32_t resident_shared_bytes(const Target& target) {
  return (target.arch >= 90 && target.arch < 120 ? 227 : 99) * 1024;
}

// At most `blocks_per_sm` blocks per multiprocessor, for persistent (grid-stride) kernels, and one of each part; 0: no
// limit.
inline void limit_grid(int blocks_per_sm, const DeviceModel& model, Launch& launch) {
  const auto most = static_cast<std::uint32_t>(blocks_per_sm) * static_cast<std::uint32_t>(model.multiprocessors);
  if (most != 0) launch.grid[0] = std::min(launch.grid[0], std::max(1U, most / launch.grid[1]));
}

inline std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

// How many adjacent threads have the columns of a tile, one each: the widest power of two that leaves at most a fifth
// of them without a column, or the one that leaves fewest.
inline unsigned lanes_log2_of(std::int64_t columns, std::int64_t threads) {
  unsigned log2 = 0;
  while ((std::int64_t{1} << log2) < std::min(columns, threads)) ++log2;
  unsigned best = log2;
  std::int64_t fewest = divide_up(columns, std::int64_t{1} << log2) << log2;
  while (log2 > 3 && fewest * 4 > columns * 5) {
    const std::int64_t lanes = divide_up(columns, std::int64_t{1} << --log2) << log2;
    if (lanes < fewest) best = log2, fewest = lanes;
  }
  return best;
}

// The smallest power of two that is not below `n`, and at least `least`, a power of two.
inline std::int64_t power_of_two_from(std::int64_t n, std::int64_t least = 1) {
  while (least < n) least *= 2;
  return least;
}

// Bytes of the widest access of the architecture.
inline std::int64_t widest_access(const Target& target) { return target.arch >= 100 && target.arch < 120 ? 32 : 16; }

// The largest power of two that divides all of them, at most `limit`.
inline std::int64_t common_alignment(std::initializer_list<std::int64_t> bytes, std::int64_t limit) {
  std::int64_t alignment = limit;
  for (const std::int64_t b : bytes) {
    while (b % alignment != 0) alignment /= 2;
  }
  return alignment;
}

}  // namespace quern::common

#endif  // QUERN_COMMON_GEOMETRY_H_
