#include "driver/clocks.h"

#include <gtest/gtest.h>

#include "unit/driver/support.h"

namespace quern {
namespace {

// The bits are those of NVML's reference.
TEST(Clocks, OnlyWhatHoldsThemDownIsAReason) {
  EXPECT_EQ(throttle_words(0), "");
  EXPECT_EQ(throttle_words(0x01 | 0x02), "");  // idle; application clocks
  EXPECT_EQ(throttle_words(0x04), "power cap");
  EXPECT_EQ(throttle_words(0x04 | 0x20 | 0x80), "power cap, thermal, power brake");
}

TEST(Clocks, ADeviceOfNoGpuHasNone) {
  test::reset_null_driver();
  const ClockRates clocks = read_clocks(Driver(null_driver_table()), 0);
  EXPECT_EQ(clocks.sm_mhz, 0);
  EXPECT_EQ(clocks.throttled, "");
}

}  // namespace
}  // namespace quern
