// Clocks and power of a GPU, read and never set: a time means something beside them.
#ifndef QUERN_DRIVER_CLOCKS_H_
#define QUERN_DRIVER_CLOCKS_H_

#include <string>

#include "base/clock_rates.h"
#include "driver/driver.h"

namespace quern {

// Now, from NVIDIA's management library, which comes with the driver. All 0 and "" where it is not there, does not
// say, or the device is none of its own.
ClockRates read_clocks(const Driver& driver, int ordinal);

// The reasons that hold clocks down, of the library's bits: idling and clocks that were asked for are none.
std::string throttle_words(unsigned long long reasons);

}  // namespace quern

#endif  // QUERN_DRIVER_CLOCKS_H_
