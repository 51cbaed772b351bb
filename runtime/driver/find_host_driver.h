// Finds libquern_hostdriver.so.
#ifndef QUERN_DRIVER_FIND_HOST_DRIVER_H_
#define QUERN_DRIVER_FIND_HOST_DRIVER_H_

#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "driver/driver.h"

namespace quern {

// The places to search: QUERN_HOSTDRIVER_LIBRARY only, if it is set; else next to libquern, next to the program, in the
// folder above (of a wheel) and its library folder, and by the loader.
std::vector<std::string> host_driver_places(const Environment& environment);

// Opens it. Throws Error (no_driver) that lists each place.
std::shared_ptr<Driver> open_host_driver(const Environment& environment);

}  // namespace quern

#endif  // QUERN_DRIVER_FIND_HOST_DRIVER_H_
