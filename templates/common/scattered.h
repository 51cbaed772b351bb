// The bytes of reads at random places, for a family's `bytes`. Host code.
#ifndef QUERN_COMMON_SCATTERED_H_
#define QUERN_COMMON_SCATTERED_H_

#include <cmath>
#include <cstdint>

namespace quern::common {

// A load that misses fills whole half-lines of a cache line on sm_90; a store does not.
inline constexpr std::int64_t kHalfLineBytes = 64;

// The bytes of the half-lines that `count` reads of `bytes` each touch, at random places of a region and aligned to
// their size. Reads that share a half-line, by chance or since they begin at the same place, count once: on average a
// region of n half-lines has n * (1 - exp(-touched / n)) different ones of those touched.
inline std::int64_t scattered_bytes(std::int64_t count, std::int64_t bytes, std::int64_t region) {
  const auto half_lines = [](std::int64_t n) { return (n + kHalfLineBytes - 1) / kHalfLineBytes; };
  const auto all = static_cast<double>(half_lines(region)), touched = static_cast<double>(count * half_lines(bytes));
  return all == 0 ? 0 : kHalfLineBytes * std::llround(-all * std::expm1(-touched / all));
}

}  // namespace quern::common

#endif  // QUERN_COMMON_SCATTERED_H_
