// What a store did since it was made.
#ifndef QUERN_CACHE_COUNTERS_H_
#define QUERN_CACHE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace quern::cache {

// The one list: X(name).
#define QUERN_CACHE_COUNTERS(X)                                                                       \
  X(layer_hits)     /* by look-ups that memory could not answer; see LayerReport for each layer's */  \
  X(misses)         /* look-ups that found nothing to use; why is in the reasons below */             \
  X(builds)         /* `build` calls that returned */                                                 \
  X(waits)          /* callers who waited for what another thread made at the time */                 \
  X(lease_waits)    /* builds that waited for another process's */                                    \
  X(lease_timeouts) /* of those, which gave up on it and built */                                     \
  X(remembered)     /* failed compiles that were not tried again */                                   \
  X(failures)       /* calls that the file system refused, to be expected ones aside */               \
  X(refused)        /* layers that are not used: not trusted, not readable, no pack */                \
  X(absent)         /* a miss because: nobody made it */                                              \
  X(other_compiler) /* a miss because: there is only what another compiler made on demand */          \
  X(rejected)       /* a miss because: the driver rejected what there was */                          \
  X(damaged)        /* passed over: bytes that are no entry */                                        \
  X(newer)          /* passed over: entries of a later quern's schema */                              \
  X(foreign)        /* passed over: entries with another key's text: moved by hand, or a collision */ \
  X(untrusted)      /* passed over: another owner, writable by others, or no plain file */            \
  X(unreadable)     /* passed over: what the file system refused to read */                           \
  X(bytes_read)     /* of entries, damaged ones too */                                                \
  X(bytes_written)  /* of entries and remembered failures */                                          \
  X(not_stored)     /* images that did not come to disk: full, too large, or nobody's turn in time */ \
  X(evictions)      /* files removed to keep within the limits */                                     \
  X(evicted_bytes)  /* and their size */                                                              \
  X(swept)          /* staging files that somebody left behind and that were removed */

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
