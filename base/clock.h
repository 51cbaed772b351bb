// Saturating arithmetic on timestamps read from a disk, which may hold any value.
#ifndef QUERN_BASE_CLOCK_H_
#define QUERN_BASE_CLOCK_H_

#include <algorithm>
#include <cstdint>
#include <limits>

namespace quern {

inline constexpr std::int64_t kSecond = 1'000'000'000;  // in nanoseconds
inline constexpr std::int64_t kFarFuture = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kFarPast = std::numeric_limits<std::int64_t>::min();

inline std::int64_t nanoseconds(std::int64_t seconds, std::int64_t rest) {
  std::int64_t ns = 0;
  const bool too_far = __builtin_mul_overflow(seconds, kSecond, &ns) || __builtin_add_overflow(ns, rest, &ns);
  if (!too_far) return ns;
  return seconds < 0 ? kFarPast : kFarFuture;
}

// The time from `earlier` to `later`; negative if `later` is before `earlier`.
inline std::int64_t elapsed(std::int64_t earlier, std::int64_t later) {
  std::int64_t ns = 0;
  if (!__builtin_sub_overflow(later, earlier, &ns)) return ns;
  return later < earlier ? kFarPast : kFarFuture;
}

// The absolute difference.
inline std::int64_t apart(std::int64_t one, std::int64_t other) {
  return std::max(elapsed(one, other), elapsed(other, one));
}

// Whether a timestamp comes from a wrong clock: it is more than an hour after `now`. Clocks of different machines
// differ by less than that.
inline bool is_ahead(std::int64_t stamp, std::int64_t now) { return elapsed(now, stamp) > 3600 * kSecond; }

inline std::int64_t just_after(std::int64_t time) { return time == kFarFuture ? time : time + 1; }

}  // namespace quern

#endif  // QUERN_BASE_CLOCK_H_
