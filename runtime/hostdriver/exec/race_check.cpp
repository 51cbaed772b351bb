#include "hostdriver/exec/race_check.h"

namespace quern::host {

bool unordered(const Visit& before, const Visit& now) {
  if (before.thread == 0 || before.thread == now.thread) return false;
  if (before.block != now.block) return before.cluster_step == now.cluster_step;
  if (before.block_step != now.block_step) return false;
  return before.warp != now.warp || before.warp_step == now.warp_step;
}

void RaceCheck::reset(std::size_t bytes) { bytes_.assign(bytes, Byte{}); }

std::optional<Visit> RaceCheck::visit(std::size_t offset, unsigned count, twin::Access access, const Visit& visit) {
  const bool load = access == twin::Access::shared_load;
  const bool atomic = access == twin::Access::shared_atomic || access == twin::Access::global_atomic;
  for (std::size_t i = offset; i < offset + count && i < bytes_.size(); ++i) {
    Byte& byte = bytes_[i];
    if (unordered(byte.writer, visit) && !(atomic && byte.atomic)) return byte.writer;
    if (load) {
      if (byte.reader.warp != visit.warp) byte.other_reader = byte.reader;
      byte.reader = visit;
      continue;
    }
    if (unordered(byte.reader, visit)) return byte.reader;
    if (unordered(byte.other_reader, visit)) return byte.other_reader;
    byte.writer = visit;
    byte.atomic = atomic;
  }
  return std::nullopt;
}

}  // namespace quern::host
