// What a block knows of its bulk copies and of the barriers in shared memory that await them.
//
// A copy is made as late as it may be: one into shared memory when somebody waits for it, one out of it when its thread
// waits for the group. So a wait that is missing shows.
#ifndef QUERN_HOSTDRIVER_EXEC_BULK_H_
#define QUERN_HOSTDRIVER_EXEC_BULK_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "common/twin_abi.cuh"

namespace quern::host {

struct CudaThread;

// A copy that is under way.
struct BulkCopy {
  std::uintptr_t to = 0;
  std::uintptr_t from = 0;
  unsigned bytes = 0;
  std::uintptr_t barrier = 0;  // of a copy into shared memory; 0: out of it
  std::uint32_t thread = 0;    // that began it, as the set numbers threads
  unsigned group = 0;          // of that thread, from 0
  twin::Site site{nullptr, 0};
  std::array<unsigned char, 16> value{};  // of a store to another block, in place of `from`

  const char* name() const { return from == 0 ? "store to another block" : "bulk copy"; }
  bool is_load() const { return barrier != 0; }
  std::uintptr_t shared() const { return is_load() ? to : from; }
  bool overlaps(std::uintptr_t address, unsigned count) const {
    return address < shared() + bytes && shared() < address + count;
  }
};

// A barrier that counts arrivals and bytes.
struct CountingBarrier {
  unsigned arrivals = 0;   // of a phase
  unsigned missing = 0;    // arrivals in this phase
  std::int64_t bytes = 0;  // announced in this phase and not come; below 0 where they came first
  unsigned parity = 0;
  std::vector<CudaThread*> waiting;
};

struct BulkState {
  std::vector<BulkCopy> copies;
  std::map<std::uintptr_t, CountingBarrier> barriers;  // by address
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_BULK_H_
