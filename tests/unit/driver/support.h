#ifndef QUERN_TESTS_UNIT_DRIVER_SUPPORT_H_
#define QUERN_TESTS_UNIT_DRIVER_SUPPORT_H_

#include "testbench/null_driver.h"

namespace quern::test {

// Resets to the initial state of a process.
inline void reset_null_driver() {
  NullDriver& state = null_driver();
  state.arch = 90;
  state.devices = 1;
  state.current_context = state.oldest_context = 1;
  state.capturing = state.ended = false;
  state.reject_images = 0;
  state.loads = 0;
  state.unloads = 0;
  state.launches = 0;
  state.last_launch = CUlaunchConfig{};
}

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_DRIVER_SUPPORT_H_
