// The directory's limits: the order of eviction, and the share of a process that writes one entry.
#include <fcntl.h>
#include <sys/stat.h>

#include "cache/budget.h"
#include "support.h"

namespace quern::cache {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// A settable clock.
class SettableClock : public ForwardingFileSystem {
 public:
  std::int64_t now_unix_ns() override { return now += kSecond; }
  std::int64_t now = 1'700'000'000 * kSecond;
};

StoreSettings limited(const std::string& dir, std::uint64_t entries, std::uint64_t bytes = std::uint64_t{1} << 30) {
  StoreSettings settings = in(dir);
  settings.writer.limits = {bytes, entries};
  return settings;
}

std::uint64_t disk_bytes_below(const std::string& dir) {
  std::uint64_t bytes = 0;
  for (const std::string& path : files_below(dir)) bytes += disk_bytes(std::filesystem::file_size(path));
  return bytes;
}

// Finding A14: a name that looks like a hash does not make a file the store's own.
TEST(Limits, EvictionSparesWhatTheStoreDidNotWrite) {
  const Scratch scratch;
  const StoreSettings settings = limited(scratch / "cache", 1);
  Store(settings, silent()).put(numbered(0), image());
  const std::string thesis = cat(scratch / "cache/", std::string(32, 'd'), "/", std::string(32, '0'));
  std::filesystem::create_directory(parent_directory(thesis));
  ASSERT_EQ(::chmod(parent_directory(thesis).c_str(), 0700), 0);
  overwrite(thesis, "my thesis");
  ASSERT_EQ(::chmod(thesis.c_str(), 0600), 0);
  ASSERT_EQ(real_file_system().set_modified(thesis, kSecond), 0);
  Store store(settings, silent());
  for (int i = 1; i < 4; ++i) store.put(numbered(i), image());
  store.tidy({0, 0});
  EXPECT_EQ(read_file(thesis), "my thesis");
  EXPECT_FALSE(store.remove(cat(std::string(32, 'd'), "/", std::string(32, '0'))));
  EXPECT_EQ(read_file(thesis), "my thesis");
  store.put(numbered(5), image());
  EXPECT_EQ(store.counters().not_stored, 0U) << "it does not fill the cache either";
}

TEST(Limits, OfEntriesHoldAndTheOldestUseGoesFirst) {
  const Scratch scratch;
  SettableClock clock;
  const StoreSettings settings = limited(scratch / "cache", 10);
  for (int i = 0; i < 10; ++i) Store(settings, silent(), clock).put(numbered(i), image());
  clock.now += 2 * 3600 * kSecond;
  EXPECT_NE(Store(settings, silent(), clock).find(numbered(0)), nullptr) << "used again";
  Store store(settings, silent(), clock);
  store.put(numbered(10), image());
  EXPECT_EQ(store.counters().evictions, 2U) << "a tenth is free afterwards";
  Store later(settings, silent(), clock);
  EXPECT_NE(later.find(numbered(0)), nullptr);
  EXPECT_EQ(later.find(numbered(1)), nullptr);
  EXPECT_EQ(later.find(numbered(2)), nullptr);
  EXPECT_NE(later.find(numbered(3)), nullptr);
  EXPECT_NE(later.find(numbered(10)), nullptr);
}

// Otherwise an image that was only listed would outlive one that is used.
TEST(Limits, OnlyTheImageThatServesCountsAsUsed) {
  const Scratch scratch;
  SettableClock clock;
  const Key old = key_named("a", "old"), other = key_named("a", "new");
  Store(in(scratch / "cache"), silent(), clock).put(old, image("on demand"));
  Store(in(scratch / "cache"), silent(), clock).put(other, prewarmed("for all"));
  clock.now += 2 * 3600 * kSecond;
  const auto modified = [&](const Key& key) {
    FileStatus status;
    EXPECT_EQ(real_file_system().status(scratch / "cache/" + key.path(), &status), 0);
    return status.modified_ns;
  };
  const std::int64_t old_before = modified(old), other_before = modified(other);
  EXPECT_EQ(Store(in(scratch / "cache"), silent(), clock).find(key_named("a", "mine"))->cubin, "for all");
  EXPECT_EQ(modified(old), old_before);
  EXPECT_GT(modified(other), other_before);
}

TEST(Limits, OfBytesHold) {
  const Scratch scratch;
  const StoreSettings settings = limited(scratch / "cache", 1000, 130'000);
  std::uint64_t evicted = 0;
  for (int i = 0; i < 50; ++i) {
    Store store(settings, silent());
    store.put(numbered(i), image(std::string(4000, 'x')));
    EXPECT_LE(disk_bytes_below(scratch / "cache"), 130'000U);
    EXPECT_EQ(store.counters().not_stored, 0U);
    evicted += store.counters().evicted_bytes;
  }
  EXPECT_GT(disk_bytes_below(scratch / "cache"), 90'000U);
  EXPECT_GT(evicted, 150'000U);
}

// The calls that lock the account, publish, release the lease and remove, in order.
class Order {
 public:
  test::InterceptedFiles::Hook hook() {
    return [this](const test::FileCall& call) {
      const std::string name = call.name;
      if (name == "rename" || name == "remove" || name == "open") calls_.push_back({name, call.path});
      return 0L;
    };
  }
  // The first of these calls on a path that holds `part`, from `begin` on; npos if there is none.
  std::size_t first(const std::string& name, const std::string& part, std::size_t begin = 0) const {
    for (std::size_t i = begin; i < calls_.size(); ++i)
      if (calls_[i].first == name && calls_[i].second.find(part) != std::string::npos) return i;
    return npos;
  }
  // The maximum number of images removed under one lock of the account.
  std::size_t most_under_one_lock() const {
    std::size_t most = 0, now = 0;
    for (const auto& [name, path] : calls_) {
      if (name == "open" && path.ends_with(".usage")) now = 0;
      if (name == "remove" && path.find("/.") == std::string::npos) most = std::max(most, ++now);
    }
    return most;
  }
  static constexpr std::size_t npos = std::string::npos;

 private:
  std::vector<std::pair<std::string, std::string>> calls_;
};

// Finding A5: every rank that wanted the new image waited until a tenth of all images was removed.
TEST(Limits, AnImageIsPublishedAndItsLeaseFreeBeforeRoomIsMade) {
  const Scratch scratch;
  const StoreSettings settings = limited(scratch / "cache", 10);
  for (int i = 0; i < 10; ++i) Store(settings, silent()).put(numbered(i), image());
  Order order;
  test::InterceptedFiles files(order.hook());
  Builder builder;
  {
    Store store(settings, silent(), files);
    EXPECT_EQ(store.get_or_build(numbered(10), builder.build()).origin, Origin::built);
    store.flush();
    EXPECT_EQ(store.counters().evictions, 2U);
  }
  const std::size_t published = order.first("rename", numbered(10).what_hash.hex() + "/.staging");
  const std::size_t lease_gone = order.first("remove", "/.leases/");
  ASSERT_NE(published, Order::npos);
  ASSERT_NE(lease_gone, Order::npos);
  EXPECT_LT(published, lease_gone);
  for (int i = 0; i < 10; ++i) EXPECT_GT(order.first("remove", numbered(i).path()), lease_gone) << i;
}

TEST(Limits, RoomIsMadeInSmallSteps) {
  const Scratch scratch;
  for (int i = 0; i < 300; ++i) Store(in(scratch / "cache"), silent(), hasty_files()).put(numbered(i), image());
  Order order;
  test::InterceptedFiles files(order.hook(), hasty_files());
  Store store(limited(scratch / "cache", 100), silent(), files);
  store.put(numbered(300), image());
  EXPECT_EQ(store.counters().evictions, 211U);
  EXPECT_EQ(files_below(scratch / "cache").size(), 90U);
  EXPECT_EQ(order.most_under_one_lock(), 64U);
}

// Lowered limits are reached over many writes, none of which takes long.
TEST(Limits, OneWriterDoesNotRemoveAllThatIsOver) {
  const Scratch scratch;
  for (int i = 0; i < 1500; ++i) Store(in(scratch / "cache"), silent(), hasty_files()).put(numbered(i), image());
  const StoreSettings settings = limited(scratch / "cache", 100);
  Store first(settings, silent(), hasty_files());
  first.put(numbered(1500), image());
  EXPECT_LE(first.counters().evictions, 17U * 64);
  EXPECT_GT(first.counters().evictions, 500U);
  Store second(settings, silent(), hasty_files());
  second.put(numbered(1501), image());
  EXPECT_LE(files_below(scratch / "cache").size(), 101U);
}

// On a full disk the least recently used entries are evicted.
TEST(Limits, AFullDiskEvictsTheOldestOfOurs) {
  const Scratch scratch;
  SettableClock clock;
  for (int i = 0; i < 5; ++i) Store(in(scratch / "cache"), silent(), clock).put(numbered(i), image());
  bool full = true;
  test::InterceptedFiles files([&](const test::FileCall& call) {
    if (call.name == std::string("remove") && call.path.find("/.") == std::string::npos) full = false;
    return full && call.name == std::string("write") ? long{-ENOSPC} : 0L;
  });
  Store store(in(scratch / "cache"), silent(), files);
  store.put(numbered(5), image());
  EXPECT_EQ(store.counters().not_stored, 0U);
  EXPECT_EQ(store.counters().evictions, 1U);
  EXPECT_EQ(Store(in(scratch / "cache"), silent()).find(numbered(0)), nullptr);
  EXPECT_NE(Store(in(scratch / "cache"), silent()).find(numbered(5)), nullptr);
}

// An error of another disk, or another user's folder: one attempt, not an endless loop.
TEST(Limits, ADiskThatStaysFullKeepsTheImageInMemory) {
  const Scratch scratch;
  for (int i = 0; i < 5; ++i) Store(in(scratch / "cache"), silent()).put(numbered(i), image());
  test::InterceptedFiles files(
      [](const test::FileCall& call) { return call.name == std::string("write") ? long{-ENOSPC} : 0L; });
  Warnings warnings;
  Store store(in(scratch / "cache"), warnings.log(), files);
  store.put(numbered(5), image());
  EXPECT_EQ(store.counters().not_stored, 1U);
  EXPECT_LE(store.counters().evictions, 1U);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("No space left"), std::string::npos) << warnings.lines()[0];
}

TEST(Limits, AnImageThatIsLargerThanAllStaysInMemory) {
  const Scratch scratch;
  Warnings warnings;
  Store store(limited(scratch / "cache", 10, 9000), warnings.log());
  store.put(numbered(0), image());
  store.put(numbered(1), image(std::string(9000, 'x')));
  EXPECT_NE(store.find(numbered(1)), nullptr);
  EXPECT_EQ(store.counters().not_stored, 1U);
  EXPECT_EQ(files_below(scratch / "cache").size(), 1U) << "no entry was evicted for it";
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("larger than the limits of the cache allow"), std::string::npos)
      << warnings.lines()[0];
}

TEST(Limits, OfOneOrNone) {
  const Scratch scratch;
  for (int i = 0; i < 3; ++i) {
    Store store(limited(scratch / "one", 1), silent());
    store.put(numbered(i), image());
    EXPECT_EQ(files_below(scratch / "one").size(), 1U);
    EXPECT_EQ(store.counters().not_stored, 0U);
  }
  Store store(limited(scratch / "none", 0), silent());
  store.put(numbered(0), image());
  EXPECT_TRUE(files_below(scratch / "none").empty());
}

// Otherwise everything new would be the oldest and be evicted first.
// Limits are disk usage: 4,000 images of 2 KB were 8.45 MB by their sizes and 33 MB of blocks and folders.
TEST(Limits, CountWholeBlocksAndTheFolderOfAFile) {
  const Scratch scratch;
  const StoreSettings settings = limited(scratch / "cache", 1000, 100'000);
  for (int i = 0; i < 40; ++i) Store(settings, silent()).put(numbered(i), image("small"));
  EXPECT_LE(files_below(scratch / "cache").size(), 100'000U / 8192);
  EXPECT_EQ(disk_bytes(0), 4096U);
  EXPECT_EQ(disk_bytes(1), 8192U);
  EXPECT_EQ(disk_bytes(4096), 8192U);
  EXPECT_EQ(disk_bytes(4097), 12288U);
}

TEST(Limits, BackupsAreToldToPassTheDirectoryOver) {
  const Scratch scratch;
  Store(in(scratch / "cache"), silent()).put(numbered(0), image());
  const std::string tag = read_file(scratch / "cache/CACHEDIR.TAG").value_or("");
  EXPECT_EQ(tag.substr(0, 43), "Signature: 8a477f597d28d172789f06886806bc55");
  Store(in(scratch / "cache"), silent()).clear();
  Store(in(scratch / "cache"), silent()).put(numbered(0), image());
  EXPECT_EQ(read_file(scratch / "cache/CACHEDIR.TAG"), tag);
}

TEST(Limits, AClockThatIsSetBackADayCausesNoEvictionStorm) {
  const Scratch scratch;
  SettableClock clock;
  const StoreSettings settings = limited(scratch / "cache", 10);
  for (int i = 0; i < 10; ++i) Store(settings, silent(), clock).put(numbered(i), image());
  clock.now -= kDay;
  std::uint64_t evictions = 0;
  for (int i = 10; i < 14; ++i) {
    Store store(settings, silent(), clock);
    store.put(numbered(i), image());
    evictions += store.counters().evictions;
  }
  EXPECT_EQ(evictions, 4U) << "two at a time";
  Store later(settings, silent(), clock);
  for (int i = 10; i < 14; ++i) EXPECT_NE(later.find(numbered(i)), nullptr) << i;
}

// Finding A12: entries used every day were evicted, and unused ones stayed, for a year.
TEST(Limits, AClockThatWasAYearAheadSpoilsNoOrder) {
  const Scratch scratch;
  SettableClock clock;
  const StoreSettings settings = limited(scratch / "cache", 6);
  clock.now += 365 * kDay;
  for (int i = 0; i < 6; ++i) Store(settings, silent(), clock).put(numbered(i), image());
  clock.now -= 364 * kDay;
  for (int i = 0; i < 2; ++i) EXPECT_NE(Store(settings, silent(), clock).find(numbered(i)), nullptr) << i;
  for (int i = 6; i < 8; ++i) Store(settings, silent(), clock).put(numbered(i), image());
  Store later(settings, silent(), clock);
  for (const int i : {0, 1, 6, 7}) EXPECT_NE(later.find(numbered(i)), nullptr) << i;
  EXPECT_EQ(later.find(numbered(2)), nullptr) << "of the others the oldest went";
}

TEST(Usage, ForgetsAStampFromTheFuture) {
  const Scratch scratch;
  SettableClock clock;
  clock.now += 365 * kDay;
  Store(in(scratch / "cache"), silent(), clock).put(numbered(0), image());
  clock.now -= 365 * kDay;
  const auto newest = [&] { return parse_usage(*read_file(scratch / "cache/.usage"))->newest_stamp; };
  EXPECT_GT(newest(), clock.now);
  Store(in(scratch / "cache"), silent(), clock).put(numbered(1), image());
  EXPECT_LE(newest(), clock.now);
  clock.now += 365 * kDay;
  Store(in(scratch / "cache"), silent(), clock).put(numbered(2), image());
  clock.now -= 365 * kDay;
  Store(in(scratch / "cache"), silent(), clock).clear();
  EXPECT_LE(newest(), clock.now);
}

TEST(Limits, WhatWasPutThereByHandIsCountedAtTheNextLook) {
  const Scratch scratch;
  const StoreSettings settings = limited(scratch / "cache", 10);
  for (int i = 0; i < 10; ++i) Store(in(scratch / "other"), silent()).put(numbered(i), image());
  Store(settings, silent()).put(numbered(20), image());
  std::filesystem::copy(scratch / "other", scratch / "cache",
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::skip_existing);
  std::filesystem::remove(scratch / "cache/.usage");
  Store(settings, silent()).put(numbered(21), image());
  EXPECT_LE(files_below(scratch / "cache").size(), 10U);
}

TEST(Limits, FilesThatAreBeingWrittenCount) {
  const Scratch scratch;
  const StoreSettings settings = limited(scratch / "cache", 1000, 200'000);
  for (int i = 0; i < 10; ++i) Store(settings, silent()).put(numbered(i), image());
  overwrite(parent_directory(scratch / "cache/" + numbered(0).path()) + "/" + staging_name(),
            std::string(180'000, 'x'));
  std::filesystem::remove(scratch / "cache/.usage");
  Store store(settings, silent());
  store.put(numbered(10), image());
  EXPECT_GT(store.counters().evictions, 5U);
}

// Stopped, or dead with a surviving child: other processes can still store, and none waits twice.
TEST(Limits, AnAccountThatStaysLockedIsDoneWithout) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  store.put(numbered(0), image());
  const OpenFile stuck(real_file_system(), scratch / "cache/.usage", O_RDWR);
  ASSERT_EQ(real_file_system().try_lock(stuck.get()), 0);
  int tries = 0;
  test::InterceptedFiles files([&](const test::FileCall& call) {
    tries += call.name == std::string("try_lock") ? 1 : 0;
    return 0L;
  });
  Store other(in(scratch / "cache"), silent(), files);
  other.put(numbered(1), image());
  EXPECT_GT(tries, 10);
  tries = 0;
  for (int i = 2; i < 5; ++i) other.put(numbered(i), image());
  EXPECT_LE(tries, 3 * 2);
  EXPECT_EQ(other.counters().not_stored, 0U);
  EXPECT_EQ(files_below(scratch / "cache").size(), 5U);
}

TEST(Limits, ADirectoryThatWasRemovedIsMadeAgain) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  store.put(numbered(0), image());
  std::filesystem::remove_all(scratch / "cache");
  store.put(numbered(1), image());
  EXPECT_EQ(store.counters().not_stored, 0U);
  EXPECT_NE(Store(in(scratch / "cache"), silent()).find(numbered(1)), nullptr);
}

TEST(Usage, RoundTripAndEveryChangeIsFound) {
  const Usage usage{1, 2, 3, 4, 5, 6, 7};
  const std::string bytes = serialize(usage);
  EXPECT_EQ(parse_usage(bytes), usage);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] ^= 1;
    EXPECT_FALSE(parse_usage(flipped)) << i;
    EXPECT_FALSE(parse_usage(bytes.substr(0, i))) << i;
  }
}

TEST(Usage, NeverSaysLessThanThereIs) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  for (int i = 0; i < 20; ++i) {
    store.put(numbered(i % 7), image(std::string(100 * i, 'x')));
    const auto usage = parse_usage(*read_file(scratch / "cache/.usage"));
    ASSERT_TRUE(usage);
    EXPECT_GE(usage->bytes, disk_bytes_below(scratch / "cache"));
    EXPECT_GE(usage->entries, files_below(scratch / "cache").size());
  }
  store.clear();
  EXPECT_EQ(parse_usage(*read_file(scratch / "cache/.usage"))->bytes, 0U);
}

// Written in place: a user's file that was linked there lost its first bytes.
TEST(Usage, AHardLinkIsReplacedAndNotWrittenTo) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  store.put(numbered(0), image());
  const std::string usage = scratch / "cache/.usage";
  overwrite(scratch / "text", std::string(200, 'x'));
  ASSERT_EQ(::chmod((scratch / "text").c_str(), 0600), 0);
  std::filesystem::remove(usage);
  std::filesystem::create_hard_link(scratch / "text", usage);
  store.put(numbered(1), image());
  EXPECT_EQ(read_file(scratch / "text"), std::string(200, 'x'));
  EXPECT_TRUE(parse_usage(read_file(usage).value_or("")));
  EXPECT_EQ(store.counters().not_stored, 0U);
}

TEST(Usage, ADamagedAccountIsMadeAnew) {
  const Scratch scratch;
  Store store(limited(scratch / "cache", 5), silent());
  for (int i = 0; i < 5; ++i) store.put(numbered(i), image());
  overwrite(scratch / "cache/.usage", "nonsense");
  store.put(numbered(5), image());
  EXPECT_LE(files_below(scratch / "cache").size(), 5U);
  EXPECT_TRUE(parse_usage(*read_file(scratch / "cache/.usage")));
}

}  // namespace
}  // namespace quern::cache
