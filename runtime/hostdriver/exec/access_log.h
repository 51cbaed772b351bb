// Logs memory accesses of templates by warp: shows whether loads and stores are coalesced.
#ifndef QUERN_HOSTDRIVER_EXEC_ACCESS_LOG_H_
#define QUERN_HOSTDRIVER_EXEC_ACCESS_LOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/twin_abi.cuh"
#include "driver/host_controls.h"
#include "hostdriver/exec/memory.h"

namespace quern::host {

// One thread's execution of an access.
struct Touch {
  const char* file;
  int line;
  twin::Access access;
  std::uint32_t bytes;
  std::uintptr_t address;
  const Allocation* memory;
  std::uint32_t warp;  // within the block
  std::uint32_t turn;  // how often this thread had executed this access before
};

// Thread-safe.
class AccessLog {
 public:
  // Adds the touches of one block's threads, in any order, while the memory still exists.
  void add_block(std::vector<Touch>&& touches);
  using Visitor = std::function<void(const quernHostAccess&)>;
  void visit(const Visitor& visitor) const;
  void visit_totals(const Visitor& visitor) const;
  void clear();

 private:
  struct Key {
    std::string file;
    int line;
    twin::Access access;
    std::uint32_t bytes;
    std::string memory;                            // its name
    std::uintptr_t begin;                          // its start, because names are not unique
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): sees one in what this makes
  };
  struct Sum {
    std::uint64_t requests = 0;
    std::uint64_t sectors = 0;
    std::uint64_t ideal_sectors = 0;
    std::uint64_t asked_bytes = 0;
    std::uint64_t half_lines = 0;
    std::vector<bool> touched;  // one bit per byte of the allocation
    void add(const Sum& other);
  };
  // A kind's sums, by the start of the memory.
  using Sums = std::map<std::uintptr_t, Sum>;
  static quernHostAccess total_of(const char* kind, const Sums& sums);
  mutable std::mutex mutex_;
  std::map<Key, Sum> sums_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_ACCESS_LOG_H_
