// State that many threads update without contending for one cache line: each thread writes only its own stripe.
#ifndef QUERN_BASE_STRIPED_H_
#define QUERN_BASE_STRIPED_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace quern {

inline constexpr std::size_t kStripes = 16;
inline constexpr std::size_t kCacheLine = 64;

// The calling thread's stripe, below kStripes. Threads are numbered in order of their first call, so that up to
// kStripes of them share none.
std::size_t this_stripe();

// A counter. A total taken during updates may miss some of them.
class StripedCounter {
 public:
  void add(std::uint64_t count = 1) { stripes_[this_stripe()].count.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t total() const;
  // Not concurrently with add.
  void reset();

 private:
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint64_t> count{0};
  };
  std::array<Stripe, kStripes> stripes_;
};

// Epoch check for lock-free readers: tells a writer when no reader can still hold a retired pointer. Neither side
// blocks: a writer that finds readers inside keeps the retired objects and checks again later. In a child forked while
// another thread was inside, that stripe stays occupied forever, so a writer must not wait.
class StripedReaders {
 public:
  class Inside {
   public:
    explicit Inside(StripedReaders& readers) : count_(readers.stripes_[this_stripe()].count) { ++count_; }
    ~Inside() { --count_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::atomic<std::uint32_t>& count_;
  };

  // Whether each stripe was empty at some time since the call began. Later readers see the caller's earlier stores.
  // REQUIRES: those stores, and the readers' loads of them, are sequentially consistent, as the counts are here.
  bool quiescent() const;

 private:
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint32_t> count{0};
  };
  std::array<Stripe, kStripes> stripes_;
};

// A shared pointer that many threads copy. Copies of one std::shared_ptr all update its one reference count; here each
// stripe has its own count and holds one reference to the value.
template <class T>
class alignas(kCacheLine) StripedPointer {  // so that no writes hit the cache lines of the pointers
 public:
  using Pointer = std::shared_ptr<const T>;

  explicit StripedPointer(const Pointer& value) : value_(value) {
    if (value == nullptr) return;
    for (Pointer& stripe : stripes_) stripe = Pointer(std::make_shared<Held>(Held{value}), value.get());
  }
  StripedPointer(const StripedPointer&) = delete;
  StripedPointer& operator=(const StripedPointer&) = delete;

  // Points to the same value in every thread, and keeps it alive beyond the lifetime of this object.
  Pointer get() const { return stripes_[this_stripe()]; }
  bool empty() const { return value_ == nullptr; }
  // Whether copies of the pointer exist besides this object's own and the `others` that the caller knows of.
  bool shared(long others = 0) const;

 private:
  // std::make_shared puts the count in front of this, with the same alignment.
  struct alignas(kCacheLine) Held {
    Pointer value;
  };
  const Pointer value_;
  std::array<Pointer, kStripes> stripes_;
};

template <class T>
bool StripedPointer<T>::shared(long others) const {
  bool shared = value_.use_count() > static_cast<long>(kStripes) + 1 + others;
  for (const Pointer& stripe : stripes_) shared = shared || stripe.use_count() > 1;
  return shared;
}

}  // namespace quern

#endif  // QUERN_BASE_STRIPED_H_
