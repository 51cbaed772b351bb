#include "hostdriver/exec/settings.h"

#include <gtest/gtest.h>

namespace quern::host {
namespace {

TEST(HostDriverSettings, AListIsOneDeviceAnItemAndASingleValueCountsForAll) {
  Settings settings;
  ASSERT_EQ(apply("seed=7 arch=90,80 multiprocessors=4", settings), "");
  EXPECT_EQ(settings.seed, 7u);
  ASSERT_EQ(settings.devices.size(), 2u);
  EXPECT_EQ(settings.devices[1].arch, 80);
  EXPECT_EQ(settings.devices[1].multiprocessors, 4);
  EXPECT_EQ(settings.devices[1].name(), "quern host device (sm_80)");
}

TEST(HostDriverSettings, ASingleValueCountsForDevicesThatALaterListAdds) {
  Settings settings;
  ASSERT_EQ(apply("multiprocessors=4 arch=90,80,75", settings), "");
  EXPECT_EQ(settings.devices[2].multiprocessors, 4);
}

TEST(HostDriverSettings, DefaultsForgetWhatWasSet) {
  Settings settings;
  ASSERT_EQ(apply("workers=3 devices=2", settings), "");
  ASSERT_EQ(apply("defaults seed=1", settings), "");
  EXPECT_EQ(settings.workers, 0);
  EXPECT_EQ(settings.seed, 1u);
  EXPECT_EQ(settings.devices.size(), 1u);
}

TEST(HostDriverSettings, WhatIsWrongIsSaidAndChangesNothing) {
  for (const char* text : {"colour=3", "seed", "seed=x", "seed=-1", "arch=90,80 multiprocessors=1,2,3", "workers=999",
                           "threads_per_block=0", "shared_per_block=65536 shared_per_block_optin=49152", "arch="}) {
    Settings settings;
    EXPECT_NE(apply(text, settings), "") << text;
    EXPECT_EQ(settings.devices, Settings{}.devices) << text;
    EXPECT_EQ(settings.seed, 0u) << text;
  }
}

}  // namespace
}  // namespace quern::host
