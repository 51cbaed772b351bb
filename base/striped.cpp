#include "base/striped.h"

#include <algorithm>

namespace quern {

std::size_t this_stripe() {
  static std::atomic<std::size_t> threads{0};
  static constexpr std::size_t kNone = kStripes;
  static constinit thread_local std::size_t mine = kNone;
  if (mine == kNone) mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
  return mine;
}

std::uint64_t StripedCounter::total() const {
  std::uint64_t total = 0;
  for (const Stripe& stripe : stripes_) total += stripe.count.load(std::memory_order_relaxed);
  return total;
}

void StripedCounter::reset() {
  for (Stripe& stripe : stripes_) stripe.count.store(0, std::memory_order_relaxed);
}

bool StripedReaders::quiescent() const {
  return std::all_of(stripes_.begin(), stripes_.end(), [](const Stripe& stripe) { return stripe.count == 0; });
}

}  // namespace quern
