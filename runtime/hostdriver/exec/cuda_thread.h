// One CUDA thread that runs or waits, and the fiber that it does so on.
#ifndef QUERN_HOSTDRIVER_EXEC_CUDA_THREAD_H_
#define QUERN_HOSTDRIVER_EXEC_CUDA_THREAD_H_

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "hostdriver/exec/fiber.h"

namespace quern::host {

// "gather/rows.cuh:12", or what stands for accesses that no primitive makes.
inline std::string place_of(const twin::Site& site) {
  return site.line == 0 ? site.file : std::string(site.file) + ":" + std::to_string(site.line);
}

class CoResidentSet;
struct Block;

// Reused for thread after thread. What every wait touches comes first, in one line of the cache, up to where the fiber
// goes on.
struct alignas(64) CudaThread {
  const char* waits_for = nullptr;
  twin::Site site{nullptr, 0};  // where it waits
  CoResidentSet* set = nullptr;
  Block* block = nullptr;
  std::uint64_t result = 0;  // what a warp's lanes gave it
  std::uint32_t number = 0;  // of the thread in the set
  bool fresh = true;         // the fiber is to be started anew
  Fiber fiber;
  std::size_t live_at = 0;  // its place among the set's threads that have a thread

  // Reading or changing one address over and over, at one place, is waiting for it to change.
  const void* last_address = nullptr;
  int last_line = 0;
  std::uint64_t last_value = 0;
  unsigned repeats = 0;

  unsigned groups = 0;  // of bulk copies that it committed

  // How often this thread executed each access; only while accesses are logged.
  struct SchedulingOrder {
    const char* file;
    int line;
    std::uint32_t bytes;
    std::uint32_t count;
  };
  std::vector<SchedulingOrder> order;

  static CudaThread& of(twin::Thread& thread) { return *reinterpret_cast<CudaThread*>(thread.private_); }
};

// CUDA threads that are not in use.
class CudaThreadPool {
 public:
  // Null where there is no memory for another.
  CudaThread* take() noexcept {
    if (free_.empty()) return make();
    CudaThread* const thread = free_.back();
    free_.pop_back();
    return thread;
  }
  void give(CudaThread& thread) { free_.push_back(&thread); }
  // Gives the memory back; no thread may have a thread.
  void clear() {
    free_.clear();
    all_.clear();
  }

 private:
  CudaThread* make() noexcept {
    try {
      all_.push_back(std::make_unique<CudaThread>());
      free_.reserve(all_.size());  // so that giving one back needs no memory
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
