// Data races in the shared memory of blocks: two threads access the same byte, one of them writes, and nothing orders
// them.
#ifndef QUERN_HOSTDRIVER_EXEC_RACE_CHECK_H_
#define QUERN_HOSTDRIVER_EXEC_RACE_CHECK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/twin_abi.cuh"

namespace quern::host {

// An accessing thread, and the number of barriers its cluster, its block and its warp had passed by then. Numbers count
// through all co-resident blocks.
struct Visit {
  std::uint32_t thread = 0;  // from 1; 0: none
  std::uint32_t block = 0;
  std::uint32_t warp = 0;
  std::uint32_t cluster_step = 0;
  std::uint32_t block_step = 0;
  std::uint32_t warp_step = 0;
  twin::Site site{nullptr, 0};
};

// Whether nothing orders the earlier `before` and `now`.
bool unordered(const Visit& before, const Visit& now);

// For the shared memory of the co-resident blocks.
class RaceCheck {
 public:
  void reset(std::size_t bytes);
  // Returns the visit that this access races with, if any; else records the access. Atomics race with loads and stores,
  // not with each other.
  std::optional<Visit> visit(std::size_t offset, unsigned bytes, twin::Access access, const Visit& visit);

 private:
  // Each byte's last writer and the last readers of two different warps: at least one of them is in another warp than
  // any later writer. Of the readers in the writer's own warp only the last is recorded.
  struct Byte {
    Visit writer;
    Visit reader;
    Visit other_reader;
    bool atomic = false;  // the writer's access was atomic
  };
  std::vector<Byte> bytes_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_RACE_CHECK_H_
