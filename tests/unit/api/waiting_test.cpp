// Processes that compile the same images, and how long a prepare waits for them.
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "api/images.h"
#include "cache/lease.h"
#include "unit/api/support.h"
#include "unit/plan/support.h"

namespace quern::test {
namespace {

// Holds the leases of a problem's images, as another process would.
class Waiting : public ApiTest {
 protected:
  // The lease of image `i` of a gather.
  std::unique_ptr<cache::Lease> hold_lease(int i) {
    Runtime runtime(options(scratch_ / "cache"));
    const AnyProblem p = problem("gather");
    const ImageRequest request{
        &p.family(), &step_of(p), p.data(), {90, "a"}, variants_of(p).at(static_cast<std::size_t>(i))};
    const cache::Key key = key_of_image(runtime.state(), request);
    const std::string name = cat(key.what_hash.hex(), "-", key.who_hash.hex());
    return leases_.take(name, [] { return false; }, {});
  }
  bool wait_for_compiles(int count) const {
    for (int i = 0; i < 2000 && compiles() < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return compiles() >= count;
  }

  cache::Services services_{real_file_system(), cache::silent()};
  cache::Leases leases_{(std::filesystem::create_directories(scratch_ / "cache"), scratch_ / "cache/.leases"),
                        cache::LeaseTimes{}, services_};
};

TEST_F(Waiting, EndsForAllImagesAtOneDeadlineThatIsAnOption) {
  std::filesystem::permissions(scratch_ / "cache", std::filesystem::perms::owner_all);
  const auto first = hold_lease(0);
  const auto second = hold_lease(1);
  ASSERT_TRUE(first && second);
  Options given = options(scratch_ / "cache");
  given.cache.wait_seconds = 0.2;
  Runtime runtime(given);
  runtime.prepare(Gather{});
  const Statistics statistics = runtime.statistics();
  EXPECT_EQ(statistics.compiles.process_waits, 2u);
  EXPECT_EQ(statistics.compiles.process_timeouts, 2u);
  EXPECT_EQ(statistics.compiles.count, 2u) << "past it, this process compiles";
}

TEST_F(Waiting, DoesNotHappenWhereTheOptionSaysSo) {
  std::filesystem::permissions(scratch_ / "cache", std::filesystem::perms::owner_all);
  const auto first = hold_lease(0);
  ASSERT_TRUE(first);
  Options given = options(scratch_ / "cache");
  given.cache.wait_seconds = 0;
  Runtime(given).prepare(Gather{});
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(log_.count(LogLevel::warning), 0) << log_.all();
}

TEST_F(Waiting, ForOneImageStartsTheOthers) {
  std::filesystem::permissions(scratch_ / "cache", std::filesystem::perms::owner_all);
  auto first = hold_lease(0);
  ASSERT_TRUE(first);
  Options given = options(scratch_ / "cache");
  given.cache.wait_seconds = 60;
  Runtime runtime(given);
  auto prepared = std::async(std::launch::async, [&] { runtime.prepare(Gather{}); });
  EXPECT_TRUE(wait_for_compiles(1)) << "the second image, while the first is waited for";
  EXPECT_EQ(runtime.statistics().compiles.process_waits, 1u);
  first.reset();
  prepared.get();
  EXPECT_EQ(compiles(), 2);
}

// One deadline holds for the whole prepare, also for images that it compiles again.
TEST_F(Waiting, EndsAtTheDeadlineForAnImageThatTheDriverRejected) {
  std::filesystem::permissions(scratch_ / "cache", std::filesystem::perms::owner_all);
  Runtime(options(scratch_ / "cache")).prepare(Gather{});
  auto first = hold_lease(0);
  ASSERT_TRUE(first);
  Options given = options(scratch_ / "cache");
  given.cache.wait_seconds = 0.2;
  Runtime runtime(given);
  null_driver().reject_images = 1;
  auto prepared = std::async(std::launch::async, [&] { runtime.prepare(Gather{}); });
  EXPECT_EQ(prepared.wait_for(std::chrono::seconds(10)), std::future_status::ready) << "it waits for the lease";
  first.reset();
  prepared.get();
  EXPECT_EQ(runtime.statistics().compiles.process_timeouts, 1u);
  EXPECT_EQ(runtime.statistics().compiles.count, 1u);
}

}  // namespace
}  // namespace quern::test
