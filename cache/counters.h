// What a store did since it was made.
#ifndef QUERN_CACHE_COUNTERS_H_
#define QUERN_CACHE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace quern::cache {

template <class Number>
struct BasicCounters {
  Number memory_hits{};
  Number disk_hits{};
  Number builds{};    // `build` calls that returned
  Number waits{};     // callers who waited for what another thread made at the time
  Number failures{};  // operations of the disk layer that failed; a directory that is refused counts once

  Number disk_misses{};  // look-ups on disk that found nothing to use. Passed over, there and in hits:
  Number damaged{};      // bytes that are no entry
  Number foreign{};      // entries with another key's text: moved by hand, or a collision
  Number untrusted{};    // another owner, writable by others, or no plain file
  Number unreadable{};   // what the file system refused to read
};

using Counters = BasicCounters<std::uint64_t>;
using AtomicCounters = BasicCounters<std::atomic<std::uint64_t>>;

}  // namespace quern::cache

#endif  // QUERN_CACHE_COUNTERS_H_
