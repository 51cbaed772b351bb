// A driver whose calls return at once: one made-up device, contexts and kernels that are only numbers, launches that do
// nothing. For measuring what quern itself costs, and for tests of everything above the driver.
#ifndef QUERN_HOSTDRIVER_NULL_TABLE_H_
#define QUERN_HOSTDRIVER_NULL_TABLE_H_

#include <cstdint>

#include "driver/driver.h"

namespace quern {

DriverTable null_driver_table();

// What the calls of null_driver_table count and how they answer, for the calling process. Tests set it; launches only
// read it.
struct NullDriver {
  int arch = 90;
  int devices = 1;
  std::uintptr_t current_context = 1;  // 0: none is current
  bool capturing = false;              // a stream of the current context is being captured
  int reject_images = 0;               // how many of the next library loads fail as invalid images
  // Counters.
  int loads = 0;
  int unloads = 0;
  int launches = 0;
  CUlaunchConfig last_launch{};
};
NullDriver& null_driver();

}  // namespace quern

#endif  // QUERN_HOSTDRIVER_NULL_TABLE_H_
