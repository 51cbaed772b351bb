// What many threads touch at once without writing one cache line: each thread has a stripe, and writes only there.
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

// The calling thread's, below kStripes. Threads are numbered as they come, so that up to kStripes of them share none.
std::size_t this_stripe();

// Counts; a total that is taken meanwhile may miss what is being added.
class StripedCounter {
 public:
  void add(std::uint64_t count = 1) { stripes_[this_stripe()].count.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t total() const;
  // Not while others add.
  void reset();

 private:
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint64_t> count{0};
  };
  std::array<Stripe, kStripes> stripes_;
};

// Says when nobody reads any more what a writer has taken out of sight. Readers never wait, and writers need not: who
// finds readers inside keeps what it took and asks again later. In a child forked while another thread was inside, that
// one stays inside for ever, so a writer must not wait.
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

  // Whether each stripe was empty at some time since the call began. Who enters afterwards sees what the caller stored
  // before. REQUIRES: that store, and the readers' load of it, are sequentially consistent, as the counts are here.
  bool nobody() const;

 private:
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint32_t> count{0};
  };
  std::array<Stripe, kStripes> stripes_;
};

// A shared pointer of which many threads take copies. Copies of one std::shared_ptr all write its one reference count;
// here each stripe has a count of its own, and each of these holds one reference to the value.
template <class T>
class alignas(kCacheLine) StripedPointer {  // so that nobody writes where the pointers lie
 public:
  using Pointer = std::shared_ptr<const T>;

  explicit StripedPointer(const Pointer& value) : value_(value) {
    if (value == nullptr) return;
    for (Pointer& stripe : stripes_) stripe = Pointer(std::make_shared<Held>(Held{value}), value.get());
  }
  StripedPointer(const StripedPointer&) = delete;
  StripedPointer& operator=(const StripedPointer&) = delete;

  // Points to the same value in every thread, and keeps it alive also after this object.
  Pointer get() const { return stripes_[this_stripe()]; }
  bool empty() const { return value_ == nullptr; }
  // Whether there are copies of the pointer besides this object's own and `others` that the caller knows of.
  bool shared(long others = 0) const;

 private:
  // With std::make_shared the count lies in front of this, aligned as it is.
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
