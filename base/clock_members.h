// The members of ClockRates in records, sweep files and messages.
#ifndef QUERN_BASE_CLOCK_MEMBERS_H_
#define QUERN_BASE_CLOCK_MEMBERS_H_

#include "base/clock_rates.h"
#include "base/members.h"

namespace quern {

constexpr auto members(const ClockRates&) {
  return std::tuple{
      always("sm_mhz", &ClockRates::sm_mhz),
      always("memory_mhz", &ClockRates::memory_mhz),
      always("power_limit_w", &ClockRates::power_limit_w),
      always("throttled", &ClockRates::throttled),
  };
}

}  // namespace quern

#endif  // QUERN_BASE_CLOCK_MEMBERS_H_
