#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <latch>
#include <thread>

#include "quern/error.h"
#include "support.h"

namespace quern::cache {
namespace {

constexpr int kThreads = 16;

// Runs `work` on many threads that start together.
template <class Work>
void together(const Work& work) {
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
}

// A build that runs until it is released.
class SlowBuild {
 public:
  Store::Build build() {
    return [this] {
      ++runs;
      started.count_down();
      release.wait();
      if (fails) throw Error(Code::compile, Stage::compile, "no such type");
      return image();
    };
  }
  std::latch started{1};
  std::latch release{1};
  bool fails = false;
  std::atomic<int> runs{0};
};

// All other callers have started waiting.
void wait_for(const std::atomic<int>& asked) {
  while (asked < kThreads) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

TEST(Threads, OneBuildServesAll) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  SlowBuild slow;
  const Store::Build build = slow.build();
  std::atomic<int> asked{0};
  std::atomic<int> built{0};
  std::jthread releaser([&] {
    wait_for(asked);
    slow.release.count_down();
  });
  together([&](int) {
    ++asked;
    const Found found = store.get_or_build(key_named("gather"), build);
    EXPECT_EQ(found.entry->cubin, "cubin");
    if (found.origin == Origin::built) ++built;
  });
  EXPECT_EQ(slow.runs, 1);
  EXPECT_EQ(built, 1);
  EXPECT_EQ(store.counters().builds, 1U);
  EXPECT_EQ(store.counters().waits + store.counters().memory_hits, kThreads - 1U);
  EXPECT_GT(store.counters().waits, 0U);
}

TEST(Threads, AFailedBuildFailsAllWhoWaitAndNobodyElse) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  SlowBuild slow;
  slow.fails = true;
  const Store::Build build = slow.build();
  std::atomic<int> asked{0};
  std::atomic<int> failed{0};
  std::jthread releaser([&] {
    wait_for(asked);
    slow.release.count_down();
  });
  together([&](int i) {
    ++asked;
    try {
      store.get_or_build(key_named("gather"), build);
    } catch (Error& error) {
      error.problem = std::to_string(i);  // each has its own error
      EXPECT_EQ(error.what(), cat("compile: no such type [", i, "]"));
      ++failed;
    }
  });
  EXPECT_EQ(failed, kThreads);
  EXPECT_EQ(store.counters().builds, 0U);
  Builder builder;
  EXPECT_EQ(store.get_or_build(key_named("gather"), builder.build()).origin, Origin::built);
}

TEST(Threads, ExceptionsOfOtherTypesPassToo) {
  Store store(in("", CacheMode::off), silent());
  const Store::Build throws = []() -> Entry { throw std::length_error("odd"); };
  EXPECT_THROW(store.get_or_build(key_named("a"), throws), std::length_error);
  EXPECT_THROW(store.get_or_build(key_named("a"),
                                  []() {
                                    throw 7;
                                    return Entry();
                                  }),
               int);
}

TEST(Threads, AHitReturnsWhileAnotherKeyIsBuilding) {
  const Scratch scratch;
  Store(in(scratch / "cache"), silent()).put(key_named("on disk"), image("on disk"));
  Store store(in(scratch / "cache"), silent());
  store.put(key_named("in memory"), image("in memory"));
  SlowBuild slow;
  const Store::Build build = slow.build();
  std::jthread leader([&] { store.get_or_build(key_named("slow"), build); });
  slow.started.wait();
  Builder builder;
  EXPECT_EQ(store.get_or_build(key_named("in memory"), builder.build()).origin, Origin::memory);
  EXPECT_EQ(store.get_or_build(key_named("on disk"), builder.build()).origin, Origin::disk);
  EXPECT_EQ(store.get_or_build(key_named("other"), builder.build()).origin, Origin::built);
  slow.release.count_down();
}

// The entry serves other threads before fsync has finished.
TEST(Threads, WritingToDiskHoldsUpNobodyElse) {
  const Scratch scratch;
  class SlowDisk : public ForwardingFileSystem {
   public:
    long sync(int file) override {
      started.count_down();
      release.wait();
      return ForwardingFileSystem::sync(file);
    }
    std::latch started{1};
    std::latch release{1};
  } files;
  Store store(in(scratch / "cache"), silent(), files);
  Builder builder;
  const Store::Build build = builder.build();
  std::jthread leader([&] { store.get_or_build(key_named("gather"), build); });
  files.started.wait();
  EXPECT_EQ(store.get_or_build(key_named("gather"), build).origin, Origin::memory);
  files.release.count_down();
}

TEST(Threads, TwoStoresRaceForOneDirectory) {
  const Scratch scratch;
  for (int round = 0; round < 20; ++round) {
    const Key key = key_named(cat("round ", round));
    Store one(in(scratch / "cache"), silent());
    Store two(in(scratch / "cache"), silent());
    Builder builder;
    const Store::Build build = builder.build();
    together([&](int i) { EXPECT_EQ((i % 2 == 0 ? one : two).get_or_build(key, build).entry->cubin, "cubin"); });
    EXPECT_EQ(builder.runs(), 1);
    EXPECT_EQ(one.counters().failures + two.counters().failures, 0U);
    EXPECT_NE(Store(in(scratch / "cache"), silent()).find(key), nullptr);
  }
  EXPECT_EQ(files_below(scratch / "cache").size(), 20U);
}

// Everything concurrently, for the sanitizers.
// Written in place, as the store never does: a concurrent read gives a correct entry or a miss.
TEST(Threads, AnEntryThatChangesWhileItIsReadIsRightOrAMiss) {
  const Scratch scratch;
  const Key key = key_named("gather");
  const std::string path = scratch / "cache/" + key.path();
  const std::string cubin(100'000, 'x');
  Store(in(scratch / "cache"), silent()).put(key, image(cubin));
  const std::string good = *read_file(path);
  std::atomic<bool> stop{false};
  std::jthread vandal([&] {
    for (unsigned i = 0; !stop; ++i) {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      const std::size_t at = (i * 7919) % good.size();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(good[at] ^ 1)).flush();
      if (i % 3 == 0) std::filesystem::resize_file(path, at);
      overwrite(path, good);
    }
  });
  int hits = 0;
  for (int round = 0; round < 300; ++round) {
    const EntryPointer entry = Store(in(scratch / "cache"), silent()).find(key);
    hits += entry ? 1 : 0;
    EXPECT_TRUE(!entry || (entry->cubin == cubin && entry->kernel == "quern_gather"));
  }
  stop = true;
  vandal.join();
  EXPECT_NE(Store(in(scratch / "cache"), silent()).find(key), nullptr) << hits;
}

// A build of the parent never finishes in the child, which must not wait for it.
TEST(Threads, AForkedChildBuildsWhatTheParentWasBuilding) {
  Store store(in(""), silent());
  SlowBuild slow;
  std::jthread leader([&] { store.get_or_build(key_named("gather"), slow.build()); });
  slow.started.wait();
  const ::pid_t child = ::fork();
  if (child == 0) {
    const Found found = store.get_or_build(key_named("gather"), [] { return image("child's"); });
    ::_exit(found.entry->cubin == "child's" ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  slow.release.count_down();
  EXPECT_EQ(status, 0);
}

TEST(Threads, MixedUse) {
  const Scratch scratch;
  Store store(in(scratch / "cache"), silent());
  Builder builder;
  const Store::Build build = builder.build();
  together([&](int i) {
    for (int round = 0; round < 30; ++round) {
      const Key key = key_named(std::to_string((i + round) % 4));
      EXPECT_EQ(store.get_or_build(key, build).entry->cubin, "cubin");
      if (i == 0) store.reject(key, store.find(key));
      if (i == 1) store.list();
      if (i == 2 && round % 10 == 9) store.clear();
      if (i == 3) store.put(key, image());
      if (i == 4) store.counters();
    }
  });
  EXPECT_EQ(store.counters().damaged + store.counters().untrusted, 0U);
}

}  // namespace
}  // namespace quern::cache
