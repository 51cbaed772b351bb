// A slow disk, a hung file server: only callers that must wait for them do.
#include "cache/write_behind.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "base/sanitizers.h"
#include "support.h"

namespace quern::cache {
namespace {

using test::InterceptedFiles;

// A disk with syncs that block until they are released.
class SlowDisk {
 public:
  ~SlowDisk() { release(); }
  FileSystem& files() { return files_; }
  void release() {
    if (!released_.exchange(true)) check_.set_value();
  }
  bool reached() const { return reached_; }

 private:
  std::promise<void> check_;
  const std::shared_future<void> open_{check_.get_future()};
  std::atomic<bool> released_{false};
  std::atomic<bool> reached_{false};
  InterceptedFiles files_{[this](const test::FileCall& call) {
    if (std::string_view(call.name) != "sync") return 0L;
    reached_ = true;
    open_.wait();
    return 0L;
  }};
};

class WrittenBehind : public ::testing::Test {
 protected:
  StoreSettings settings() const {
    StoreSettings settings = in(scratch_ / "cache");
    settings.write_behind = true;
    return settings;
  }
  const Key key_ = key_named("gather");
  const Scratch scratch_;
  const Log log_ = silent();
};

template <class T>
bool soon(const std::future<T>& future) {
  return future.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
}

TEST_F(WrittenBehind, ACallReturnsBeforeTheDiskHasSyncedAndTheStoresEndWaitsForIt) {
  SlowDisk disk;
  std::optional<Store> store(std::in_place, settings(), log_, disk.files());
  auto built = std::async(std::launch::async, [&] { return store->get_or_build(key_, [] { return image(); }).origin; });
  const bool in_time = soon(built);
  if (!in_time) disk.release();
  ASSERT_TRUE(in_time) << "waited for the disk";
  EXPECT_EQ(built.get(), Origin::built);
  EXPECT_EQ(store->get_or_build(key_, [] { return image(); }).origin, Origin::memory);
  EXPECT_EQ(store->counters().bytes_written, 0u);
  auto ended = std::async(std::launch::async, [&] { store.reset(); });
  EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  disk.release();
  ended.get();
  EXPECT_EQ(Store(in(scratch_ / "cache"), log_).get_or_build(key_, [] { return image(); }).origin, Origin::disk);
}

// Otherwise each process that starts while a disk is slow would build it.
TEST_F(WrittenBehind, AnotherProcessWaitsForTheFileAndBuildsNothing) {
  SlowDisk disk;
  Store slow(settings(), log_, disk.files());
  slow.get_or_build(key_, [] { return image(); });
  Store other(settings(), log_);
  auto found = std::async(std::launch::async, [&] { return other.get_or_build(key_, [] { return image(); }).origin; });
  while (other.counters().lease_waits == 0) std::this_thread::yield();
  disk.release();
  EXPECT_EQ(found.get(), Origin::disk);
}

TEST_F(WrittenBehind, WhatIsForgottenIsNotWrittenAfterwards) {
  SlowDisk disk;
  Store store(settings(), log_, disk.files());
  const auto found = store.get_or_build(key_, [] { return image(); });
  while (!disk.reached()) std::this_thread::yield();
  auto forgotten = std::async(std::launch::async, [&] { store.reject(key_, found.entry); });
  disk.release();
  forgotten.get();
  store.flush();
  EXPECT_EQ(Store(in(scratch_ / "cache"), log_).find(key_), nullptr);
}

// Functions that list or clear the directory, or clear memory, see earlier builds.
TEST_F(WrittenBehind, ListLoadRemoveClearTidyAndDropWaitForIt) {
  using Call = std::function<bool(Store&)>;
  const std::string item = key_.path();
  const std::pair<const char*, Call> calls[] = {
      {"list", [](Store& store) { return store.list().size() == 1; }},
      {"load", [&](Store& store) { return store.load(item, nullptr) != nullptr; }},
      {"drop_unused", [](Store& store) { return store.drop_unused(), store.resident().empty(); }},
      {"tidy",
       [](Store& store) {
         return store.tidy({0, 0}) == 1;
       }},
      {"remove", [&](Store& store) { return store.remove(item); }},
      {"clear", [](Store& store) { return store.clear() == 1; }},
  };
  for (const auto& [name, call] : calls) {
    std::filesystem::remove_all(scratch_ / "cache");
    SlowDisk disk;
    Store store(settings(), log_, disk.files());
    store.get_or_build(key_, [] { return image(); });
    while (!disk.reached()) std::this_thread::yield();
    auto called = std::async(std::launch::async, [&, &call = call] { return call(store); });
    EXPECT_EQ(called.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout) << name;
    disk.release();
    EXPECT_TRUE(called.get()) << name;
  }
}

TEST_F(WrittenBehind, AForkedChildWritesItsOwnAndLeavesTheParentsAlone) {
  if (QUERN_THREAD_SANITIZER)
    GTEST_SKIP() << "ThreadSanitizer ends a child that starts a thread, if its parent had several";
  SlowDisk disk;
  Store store(settings(), log_, disk.files());
  store.get_or_build(key_, [] { return image(); });
  while (!disk.reached()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    disk.release();
    store.get_or_build(key_named("own"), [] { return image(); });
    store.flush();
    _exit(Store(in(scratch_ / "cache"), log_).find(key_named("own")) != nullptr ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  disk.release();
  store.flush();
  EXPECT_NE(Store(in(scratch_ / "cache"), log_).find(key_), nullptr);
}

TEST(WriteBehind, JobsRunInOrderAndAFullQueueIsItsCallersWork) {
  std::promise<void> check;
  std::vector<int> ran;
  WriteBehind queue;
  queue.add([&] { check.get_future().wait(); });
  int added = 0;
  while (ran.empty() && added < 1000) {
    queue.add([&, number = added] { ran.push_back(number); });
    ++added;
  }
  EXPECT_LT(added, 1000) << "bounded";
  check.set_value();
  queue.flush();
  ASSERT_EQ(ran.size(), static_cast<std::size_t>(added));
  EXPECT_EQ(ran.front(), added - 1) << "the caller's own, at once";
  for (std::size_t i = 1; i < ran.size(); ++i) EXPECT_EQ(ran[i], static_cast<int>(i) - 1);
}

}  // namespace
}  // namespace quern::cache
