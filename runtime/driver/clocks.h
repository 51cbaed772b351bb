// Clocks and power of a GPU, read but never set: they are recorded with each measured time.
#ifndef QUERN_DRIVER_CLOCKS_H_
#define QUERN_DRIVER_CLOCKS_H_

#include <string>

#include "base/clock_rates.h"
#include "driver/driver.h"

namespace quern {

// The current values from NVML, which comes with the driver. All 0 and "" if NVML is missing, reports nothing, or does
// not know the device.
ClockRates read_clocks(const Driver& driver, int ordinal);

// The throttle reasons in NVML's bits; idling and application clocks are not counted.
std::string throttle_words(unsigned long long reasons);

}  // namespace quern

#endif  // QUERN_DRIVER_CLOCKS_H_
