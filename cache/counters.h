// Counters of a store since its construction.
#ifndef QUERN_CACHE_COUNTERS_H_
#define QUERN_CACHE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace quern::cache {

// The one list: X(name).
#define QUERN_CACHE_COUNTERS(X)                                                                   \
  X(layer_hits)     /* hits in the layers below memory; see LayerReport for each layer's */       \
  X(misses)         /* look-ups without a usable entry; the reasons are counted below */          \
  X(builds)         /* `build` calls that returned */                                             \
  X(waits)          /* callers that waited for another thread's build */                          \
  X(lease_waits)    /* builds that waited for another process */                                  \
  X(lease_timeouts) /* of those, the ones that timed out and built */                             \
  X(remembered)     /* failed compiles that were not retried */                                   \
  X(failures)       /* failed file system calls, without expected ones */                         \
  X(refused)        /* layers that are not used: not trusted, not readable, not packs */          \
  X(absent)         /* a miss because: there was no entry */                                      \
  X(other_compiler) /* a miss because: only another compiler's entry, made on demand */           \
  X(rejected)       /* a miss because: the driver rejected the image */                           \
  X(damaged)        /* skipped: damaged entries */                                                \
  X(newer)          /* skipped: entries of a later quern's schema */                              \
  X(foreign)        /* skipped: entries with another key's text: moved by hand, or a collision */ \
  X(untrusted)      /* skipped: another owner, writable by others, or not a plain file */         \
  X(unreadable)     /* skipped: the file system refused to read them */                           \
  X(bytes_read)     /* of entries, including damaged ones */                                      \
  X(bytes_written)  /* of entries and remembered failures */                                      \
  X(not_stored)     /* images not written to disk: full, too large, or no lock in time */         \
  X(evictions)      /* files removed to stay within the limits */                                 \
  X(evicted_bytes)  /* and their size */                                                          \
  X(swept)          /* abandoned staging files that were removed */

template <class Number>
struct BasicCounters {
  std::uint64_t memory_hits = 0;  // counted by the memory layer, striped
#define QUERN_CACHE_COUNTER(name) Number name{};
  QUERN_CACHE_COUNTERS(QUERN_CACHE_COUNTER)
#undef QUERN_CACHE_COUNTER
};

using Counters = BasicCounters<std::uint64_t>;
using AtomicCounters = BasicCounters<std::atomic<std::uint64_t>>;

inline Counters snapshot(const AtomicCounters& from) {
  Counters to;
#define QUERN_CACHE_COUNTER(name) to.name = from.name;
  QUERN_CACHE_COUNTERS(QUERN_CACHE_COUNTER)
#undef QUERN_CACHE_COUNTER
  return to;
}

}  // namespace quern::cache

#endif  // QUERN_CACHE_COUNTERS_H_
