#include "cache/lease.h"

#include "unit/cache/support.h"

namespace quern::cache {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Both limits are reached by counted naps of at least 1 ms, so that this machine's speed does not matter.
constexpr LeaseTimes kTimes{milliseconds(1000), milliseconds(30), hours(1), milliseconds(1)};
constexpr int kManyLooks = 5000;

// Another owner's lock of a file, without a heartbeat.
class Held {
 public:
  explicit Held(const std::string& path) : file_(real_file_system(), path, O_RDWR | O_CREAT, 0644) {
    EXPECT_EQ(real_file_system().try_lock(file_.get()), 0);
  }

 private:
  OpenFile file_;
};

std::string only_file_in(const std::string& dir) {
  std::vector<std::string> names;
  EXPECT_EQ(real_file_system().list(dir, &names), 0);
  EXPECT_EQ(names.size(), 1U);
  return cat(dir, "/", names.empty() ? "" : names.front());
}

TEST(Lease, OfAnOwnerWithoutASignOfLifeExpires) {
  const Scratch scratch;
  Services services(real_file_system(), silent());
  Leases leases(scratch.path(), kTimes, services);
  const auto never = [] { return false; };
  ASSERT_NE(leases.take("key", never, {}), nullptr) << "and removes its file";
  auto first = leases.take("key", never, {});
  const std::string path = only_file_in(scratch.path());
  first.reset();
  const Held held(path);
  int looks = 0;
  const auto at_last = [&] { return ++looks > kManyLooks; };
  const auto successor = leases.take("key", at_last, {});
  ASSERT_NE(successor, nullptr) << "one builds in its place";
  EXPECT_EQ(services.counters.lease_timeouts, 1U);
  EXPECT_LE(looks, kManyLooks) << "it was waited for as long as any build may take";
}

TEST(Lease, OfASuccessorThatExpiresTooIsWaitedForNoLonger) {
  const Scratch scratch;
  Services services(real_file_system(), silent());
  Leases leases(scratch.path(), kTimes, services);
  auto first = leases.take("key", [] { return false; }, {});
  const std::string path = only_file_in(scratch.path());
  first.reset();
  const Held held(path), successor(path + "+");
  int looks = 0;
  EXPECT_EQ(leases.take("key", [&] { return ++looks > 2 * kManyLooks; }, {}), nullptr);
  EXPECT_EQ(services.counters.lease_timeouts, 1U);
  EXPECT_EQ(services.counters.lease_waits, 1U);
  EXPECT_LE(looks, 2 * kManyLooks);
}

TEST(Lease, NamesAreKnownAndOthersAreNot) {
  const std::string hash(32, 'a');
  const std::string name = cat("01234567-", hash, "-", hash);
  EXPECT_TRUE(is_lease(name));
  EXPECT_TRUE(is_lease(name + "+"));
  for (const std::string& other : {name + "++", name + "x", std::string("+"), std::string(), name.substr(1)})
    EXPECT_FALSE(is_lease(other)) << other;
}

// The owner removes its file, and the next owner creates another, after we opened it and before we locked it: the
// locked file then has no name, and a process that took it for a lease would build concurrently with the next owner.
TEST(Lease, OfAFileThatWasReplacedMeanwhileIsNone) {
  const Scratch scratch;
  std::string path;
  std::unique_ptr<Held> next;
  bool replaced = false;
  test::InterceptedFiles files([&](const test::FileCall& call) -> long {
    if (std::string_view(call.name) == "open" && call.path.find("-key") != std::string::npos) path = call.path;
    if (std::string_view(call.name) != "try_lock" || replaced) return 0;
    replaced = true;
    real_file_system().remove(path);
    next = std::make_unique<Held>(path);
    return 0;
  });
  Services services(files, silent());
  Leases leases(scratch.path(), kTimes, services);
  int looks = 0;
  EXPECT_EQ(leases.take("key", [&] { return ++looks > 0; }, {}), nullptr);
  EXPECT_TRUE(replaced);
  EXPECT_EQ(services.counters.lease_waits, 1U) << "it waits for the next one";
}

// A full scan of the directory between an owner's open and its lock: a scan that locked the new file made the owner
// give up its lease, as after an owner that failed, and two processes built the same image.
TEST(Lease, IsNotTakenByAScanBeforeItsOwnerLocksIt) {
  const Scratch scratch;
  Leases* scanning = nullptr;
  test::InterceptedFiles files([&](const test::FileCall& call) -> long {
    if (std::string_view(call.name) == "try_lock" && scanning != nullptr) std::exchange(scanning, nullptr)->sweep();
    return 0;
  });
  Services services(real_file_system(), silent()), watched(files, silent());
  Leases others(scratch.path(), kTimes, services), leases(scratch.path(), kTimes, watched);
  scanning = &others;
  EXPECT_NE(leases.take(cat(std::string(32, 'a'), "-", std::string(32, 'b')), [] { return false; }, {}), nullptr);
  EXPECT_EQ(scanning, nullptr);
  EXPECT_EQ(watched.counters.lease_waits, 0U);
}

}  // namespace
}  // namespace quern::cache
