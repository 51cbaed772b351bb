// A GPU's clocks during a measurement.
#ifndef QUERN_BASE_CLOCK_RATES_H_
#define QUERN_BASE_CLOCK_RATES_H_

#include <string>

namespace quern {

struct ClockRates {
  int sm_mhz = 0;
  int memory_mhz = 0;
  double power_limit_w = 0;
  std::string throttled;  // why the clocks are reduced, "power cap, thermal"; "" if they are not
  friend bool operator==(const ClockRates&, const ClockRates&) = default;
};

}  // namespace quern

#endif  // QUERN_BASE_CLOCK_RATES_H_
