// Races in shared memory, one access after the other: kernels produce these orders only occasionally.
#include "hostdriver/exec/race_check.h"

#include <gtest/gtest.h>

namespace quern::host {
namespace {

using twin::Access;

class RaceChecks : public testing::Test {
 protected:
  void SetUp() override { races_.reset(16); }
  static Visit thread_of_warp(std::uint32_t thread, std::uint32_t warp, std::uint32_t block_step = 0) {
    Visit visit;
    visit.thread = thread;
    visit.warp = warp;
    visit.block_step = block_step;
    return visit;
  }
  // The thread that the access races with; 0: none.
  std::uint32_t load(const Visit& visit) { return race(Access::shared_load, visit); }
  std::uint32_t store(const Visit& visit) { return race(Access::shared_store, visit); }
  std::uint32_t atomic(const Visit& visit) { return race(Access::shared_atomic, visit); }

 private:
  std::uint32_t race(Access access, const Visit& visit) {
    const auto other = races_.visit(4, 4, access, visit);
    return other ? other->thread : 0;
  }
  RaceCheck races_;
};

TEST_F(RaceChecks, AWriterMeetsTheReaderOfAnotherWarpWhereOneOfItsOwnCameLater) {
  EXPECT_EQ(load(thread_of_warp(1, 0)), 0);
  EXPECT_EQ(load(thread_of_warp(33, 1)), 0);
  EXPECT_EQ(store(thread_of_warp(33, 1)), 1);
}

TEST_F(RaceChecks, AWriterMeetsTheLastReaderOfAnotherWarp) {
  EXPECT_EQ(load(thread_of_warp(33, 1)), 0);
  EXPECT_EQ(load(thread_of_warp(1, 0)), 0);
  EXPECT_EQ(store(thread_of_warp(33, 1)), 1);
}

TEST_F(RaceChecks, ABarrierIsBetweenReadersAndAWriter) {
  EXPECT_EQ(load(thread_of_warp(1, 0)), 0);
  EXPECT_EQ(load(thread_of_warp(33, 1)), 0);
  EXPECT_EQ(store(thread_of_warp(33, 1, 1)), 0);
  EXPECT_EQ(load(thread_of_warp(1, 0, 1)), 33);
}

TEST_F(RaceChecks, AtomicsRaceWithLoadsAndStoresAlone) {
  EXPECT_EQ(atomic(thread_of_warp(1, 0)), 0);
  EXPECT_EQ(atomic(thread_of_warp(33, 1)), 0);
  EXPECT_EQ(load(thread_of_warp(65, 2)), 33);
  EXPECT_EQ(store(thread_of_warp(65, 2)), 33);
}

}  // namespace
}  // namespace quern::host
