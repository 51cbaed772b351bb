// One running or waiting CUDA thread, and its fiber.
#ifndef QUERN_HOSTDRIVER_EXEC_CUDA_THREAD_H_
#define QUERN_HOSTDRIVER_EXEC_CUDA_THREAD_H_

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "hostdriver/exec/fiber.h"

namespace quern::host {

// "gather/rows.cuh:12", or a description for accesses that no primitive makes.
inline std::string place_of(const twin::Site& site) {
  return site.line == 0 ? site.file : std::string(site.file) + ":" + std::to_string(site.line);
}

class CoResidentSet;
struct Block;

// Reused for one thread after another. The members that every wait touches come first, in one cache line, up to the
// fiber's continuation.
struct alignas(64) CudaThread {
  const char* waits_for = nullptr;
  twin::Site site{nullptr, 0};  // where it waits
  CoResidentSet* set = nullptr;
  Block* block = nullptr;
  std::uint64_t result = 0;  // result of its warp collective
  std::uint32_t number = 0;  // the thread's number in the set
  bool fresh = true;         // the fiber must be restarted
  Fiber fiber;
  std::size_t live_at = 0;  // its index in the set's list of live threads

  // Reading or changing one address repeatedly, at one place, counts as waiting for it to change.
  const void* last_address = nullptr;
  int last_line = 0;
  std::uint64_t last_value = 0;
  unsigned repeats = 0;

  unsigned groups = 0;  // bulk groups that it committed

  // Number of executions of each access by this thread; only while accesses are logged.
  struct SchedulingOrder {
    const char* file;
    int line;
    std::uint32_t bytes;
    std::uint32_t count;
  };
  std::vector<SchedulingOrder> order;

  static CudaThread& of(twin::Thread& thread) { return *reinterpret_cast<CudaThread*>(thread.private_); }
};

// Pool of unused CUDA threads.
class CudaThreadPool {
 public:
  // Null if there is no memory for another.
  CudaThread* take() noexcept {
    if (free_.empty()) return make();
    CudaThread* const thread = free_.back();
    free_.pop_back();
    return thread;
  }
  void give(CudaThread& thread) { free_.push_back(&thread); }
  // Frees the memory; no thread may be in use.
  void clear() {
    free_.clear();
    all_.clear();
  }

 private:
  CudaThread* make() noexcept {
    try {
      all_.push_back(std::make_unique<CudaThread>());
      free_.reserve(all_.size());  // so that returning one needs no allocation
      return all_.back().get();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  std::vector<std::unique_ptr<CudaThread>> all_;
  std::vector<CudaThread*> free_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_CUDA_THREAD_H_
