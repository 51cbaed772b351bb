// A block's pending copies: bulk copies, with the mbarriers in shared memory that track them, and copies of one thread.
//
// A copy is performed as late as allowed: into shared memory when a thread waits for its barrier, or its own thread for
// it; out of it when its thread waits for the group. So a missing wait becomes visible.
#ifndef QUERN_HOSTDRIVER_EXEC_BULK_H_
#define QUERN_HOSTDRIVER_EXEC_BULK_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "common/twin_abi.cuh"

namespace quern::host {

struct CudaThread;

// A pending copy.
struct BulkCopy {
  std::uintptr_t to = 0;
  std::uintptr_t from = 0;
  unsigned bytes = 0;
  std::uintptr_t barrier = 0;  // of a copy into shared memory; 0: out of it
  std::uint32_t thread = 0;    // the issuing thread, by its number in the set
  unsigned group = 0;          // bulk group of that thread, from 0
  twin::Site site{nullptr, 0};
  std::array<unsigned char, 16> value{};  // payload of a store to another block, instead of `from`

  bool own = false;  // one of 4, 8 or 16 bytes into shared memory, which its thread waits for

  const char* name() const { return own ? "copy" : from == 0 ? "store to another block" : "bulk copy"; }
  bool is_load() const { return barrier != 0 || own; }
  std::uintptr_t shared() const { return is_load() ? to : from; }
  bool overlaps(std::uintptr_t address, unsigned count) const {
    return address < shared() + bytes && shared() < address + count;
  }
};

// An mbarrier: counts arrivals and bytes.
struct CountingBarrier {
  unsigned arrivals = 0;  // expected per phase
  unsigned missing = 0;   // still missing in this phase
  // Announced in this phase and still pending; negative if they arrived before the announcement.
  std::int64_t bytes = 0;
  unsigned parity = 0;
  std::vector<CudaThread*> waiting;
};

struct BulkState {
  std::vector<BulkCopy> copies;
  std::map<std::uintptr_t, CountingBarrier> barriers;  // by address
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_BULK_H_
