// Slab allocator: objects of one size, close together and numbered.
#ifndef QUERN_BASE_SLABS_H_
#define QUERN_BASE_SLABS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fork_barrier.h"

namespace quern {

// Randomly accessed objects share pages, which saves TLB misses, and a 32-bit number takes half the cache of a pointer.
// Chunks double: of 64 objects, 128, 256, …, in huge pages where they are large enough. Thread-safe. The destructor
// frees the memory.
class Slabs {
 public:
  Slabs() = default;
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // REQUIRES: `bytes` is the same at each call. Aligned to a cache line. Throws std::bad_alloc.
  void* take(std::size_t bytes);
  // Does not throw.
  void give(void* object);

  // The number of the object that contains an address, from 0 on without gaps; the object of a number. The second takes
  // no lock.
  std::uint32_t number_of(const void* object) const;
  void* at(std::uint32_t number) const {
    const int chunk = chunk_of(number);
    return chunks_[static_cast<std::size_t>(chunk)].load(std::memory_order_relaxed) +
           (number - first_of(chunk)) * step_.load(std::memory_order_relaxed);
  }
  // The offset of `object` in the slab object of that number, in bytes.
  std::size_t offset_of(const void* object, std::uint32_t number) const {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(object) -
                                    static_cast<const unsigned char*>(at(number)));
  }

 private:
  static constexpr std::uint32_t kFirst = 64;  // objects of the first chunk
  static constexpr int kChunks = 26;
  static int chunk_of(std::uint32_t number) { return 31 - __builtin_clz(number / kFirst + 1); }
  static std::uint32_t first_of(int chunk) { return ((1U << chunk) - 1) * kFirst; }
  static std::size_t count_of(int chunk) { return std::size_t{kFirst} << chunk; }
  void add_chunk();

  struct Free {
    Free* next;
  };
  std::array<std::atomic<unsigned char*>, kChunks> chunks_{};
  std::atomic<std::size_t> step_{0};  // bytes between objects
  mutable ForkSafeMutex mutex_;
  int chunk_count_ = 0;
  std::size_t used_ = 0;  // of the last chunk's objects
  Free* free_ = nullptr;
};

// For std::allocate_shared: each object keeps the slabs alive.
template <class T>
class SlabAllocator {
 public:
  using value_type = T;
  explicit SlabAllocator(std::shared_ptr<Slabs> slabs) : slabs_(std::move(slabs)) {}
  template <class U>
  SlabAllocator(const SlabAllocator<U>& other) : slabs_(other.slabs()) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t) { return static_cast<T*>(slabs_->take(sizeof(T))); }
  void deallocate(T* object, std::size_t) { slabs_->give(object); }
  const std::shared_ptr<Slabs>& slabs() const { return slabs_; }
  friend bool operator==(const SlabAllocator& a, const SlabAllocator& b) { return a.slabs_ == b.slabs_; }

 private:
  std::shared_ptr<Slabs> slabs_;
};

}  // namespace quern

#endif  // QUERN_BASE_SLABS_H_
