// Clocks and power of a GPU, read and never set: a time means something beside them.
#ifndef QUERN_DRIVER_CLOCKS_H_
#define QUERN_DRIVER_CLOCKS_H_

#include <string>

#include "driver/driver.h"

namespace quern {

struct Clocks {
  double sm_mhz = 0;
  double memory_mhz = 0;
  double power_limit_w = 0;
  std::string throttled;  // why the clocks are held down, "power cap, thermal"; "" if they are not
};

// Now, from NVIDIA's management library, which comes with the driver. All 0 and "" where it is not there, does not
// say, or the device is none of its own.
Clocks read_clocks(const Driver& driver, int ordinal);

// The reasons that hold clocks down, of the library's bits: idling and clocks that were asked for are none.
std::string throttle_words(unsigned long long reasons);

}  // namespace quern

#endif  // QUERN_DRIVER_CLOCKS_H_
