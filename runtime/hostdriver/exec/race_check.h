// Races in the shared memory of blocks: two threads reach the same byte, one of them writes, and nothing orders them.
#ifndef QUERN_HOSTDRIVER_EXEC_RACE_CHECK_H_
#define QUERN_HOSTDRIVER_EXEC_RACE_CHECK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/twin_abi.cuh"

namespace quern::host {

// Who reaches a byte: a thread, and how many barriers its cluster, its block and its warp had passed by then. Numbers
// count through all blocks that run together.
struct Visit {
  std::uint32_t thread = 0;  // from 1; 0: nobody
  std::uint32_t block = 0;
  std::uint32_t warp = 0;
  std::uint32_t cluster_step = 0;
  std::uint32_t block_step = 0;
  std::uint32_t warp_step = 0;
  twin::Site site{nullptr, 0};
};

// Nothing orders `before`, of an earlier time, and `now`.
bool unordered(const Visit& before, const Visit& now);

// For the shared memory of the blocks that run together.
class RaceCheck {
 public:
  void reset(std::size_t bytes);
  // The other side of a race that this access would make, if any; else remembers the access. Atomics race with loads
  // and stores, not with each other.
  std::optional<Visit> visit(std::size_t offset, unsigned bytes, twin::Access access, const Visit& visit);

 private:
  // Each byte's last writer and the last readers of two different warps: one of them is of another warp than a writer
  // that comes. Of readers of the writer's own warp only the last is known.
  struct Byte {
    Visit writer;
    Visit reader;
    Visit other_reader;
    bool atomic = false;  // the writer was
  };
  std::vector<Byte> bytes_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_RACE_CHECK_H_
