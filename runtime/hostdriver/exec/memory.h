// Device memory: host memory with a guard zone on both sides, a record of initialized bytes, and a name.
#ifndef QUERN_HOSTDRIVER_EXEC_MEMORY_H_
#define QUERN_HOSTDRIVER_EXEC_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "hostdriver/exec/clock.h"

namespace quern::host {

struct Allocation {
  std::uintptr_t begin = 0;  // a multiple of 256
  std::size_t bytes = 0;
  std::string name;                          // "" until quernHostNameMemory
  std::uint64_t owner = 0;                   // the context's id
  std::unique_ptr<unsigned char[]> written;  // one per byte: whether it was ever written

  bool contains(std::uintptr_t address, std::size_t count) const {
    return address >= begin && count <= bytes && address - begin <= bytes - count;
  }
};

// "\"out\" (256 bytes)".
std::string name_of(const Allocation& allocation);
// Describes an access that no allocation fully contains; `near`: the nearest one, or null.
std::string place_of(std::uintptr_t address, unsigned bytes, const Allocation* near);

// Thread-safe. An Allocation stays in place until it is freed; freeing one that a kernel still uses is the caller's
// error, which a kernel's checks cannot detect.
class Memory {
 public:
  static constexpr std::size_t kGuardBytes = 4096;

  explicit Memory(std::int64_t limit, std::int64_t l2_bytes = 0)
      : limit_(limit), clock_(static_cast<std::size_t>(l2_bytes)) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // 0 if the limit or the system's memory is exhausted. The bytes hold 0xCD and count as uninitialized.
  std::uintptr_t allocate(std::size_t bytes, std::uint64_t owner);
  // False if `address` is not the start of an allocation. `damage`: a message if a guard zone was overwritten.
  bool free(std::uintptr_t address, std::string* damage);
  void free_all(std::uint64_t owner);
  // The allocation that contains `address`, or the nearest one with a guard zone that does; else null.
  Allocation* find(std::uintptr_t address);
  // The allocation closest to `address`; null if there is none. For reports.
  const Allocation* nearest(std::uintptr_t address);
  // A message about the first overwritten guard zone, or "".
  std::string damage();
  std::size_t used() const;
  std::size_t count() const;
  Clock& clock() { return clock_; }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, std::unique_ptr<Allocation>> allocations_;  // by start address
  std::int64_t limit_;
  std::size_t used_ = 0;
  Clock clock_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_MEMORY_H_
