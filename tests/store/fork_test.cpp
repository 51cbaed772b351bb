// A process forks after it used its store, and containers in which every process has the number 1.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "store/support.h"

namespace quern::cache {
namespace {

// ---- fork after first use

// Key 0 is built by a thread of the parent, which is in the middle of it until `end` is set.
class Building {
 public:
  Building(Store& store, const BuildLog& log)
      : thread_([this, &store, &log] {
          store.get_or_build(key_of(0), [this, &log] {
            log.add(0);
            inside_ = true;
            while (!end_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return image_of(0);
          });
        }) {
    while (!inside_) std::this_thread::yield();
  }
  ~Building() { end(); }
  void end() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> inside_{false}, end_{false};
  std::thread thread_;
};

bool right(const EntryPointer& entry, int number) { return entry && why_wrong(*entry, number).empty(); }

// What a child does with its parent's store, whose thread with the lease is not in it.
int use_in_child(Store& store, const BuildLog& log, int child) {
  const int own = 100 + child, shared = 2;
  if (!right(store.find(key_of(1)), 1)) return 1;
  if (!right(store.get_or_build(key_of(own), log.build(own)).entry, own)) return 2;
  if (!right(store.get_or_build(key_of(shared), log.build(shared)).entry, shared)) return 3;
  store.reject(key_of(own), store.find(key_of(own)));
  if (!right(store.get_or_build(key_of(own), log.build(own)).entry, own)) return 4;
  store.tidy(store.limits());
  return 0;
}

TEST(Fork, AChildUsesTheStoreOfItsParent) {
  const int rounds = sized(100, 10);
  constexpr int kChildren = 4;
  const Stopwatch watch;
  for (int round = 0; round < rounds; ++round) {
    const Scratch scratch;
    const BuildLog log(scratch / "builds");
    const StoreSettings settings = in(scratch / "cache");
    Store store(settings, silent());
    store.get_or_build(key_of(1), log.build(1));
    Building building(store, log);
    std::vector<pid_t> children;
    for (int i = 0; i < kChildren; ++i) children.push_back(start_fork([&] { return use_in_child(store, log, i); }));
    EXPECT_TRUE(right(store.get_or_build(key_of(3), log.build(3)).entry, 3));
    for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
    building.end();
    const std::map<int, int> builds = log.counts();
    for (const int number : {0, 1, 2, 3}) EXPECT_EQ(builds.at(number), 1) << "key " << number;
    EXPECT_EQ(store.counters().failures, 0U);
    EXPECT_EQ(left_behind(scratch / "cache"), std::vector<std::string>{});
    expect_sound(scratch / "cache", 4);
  }
  figures(cat("fork after first use: ", rounds, " rounds of ", kChildren, " children, a lease held by another thread; ",
              watch.text()));
}

// A child that lives on has the lease's open file too: it must not keep the lease.
TEST(Fork, AChildThatLivesOnHoldsNoLease) {
  const Scratch scratch;
  const BuildLog log(scratch / "builds");
  const StoreSettings settings = in(scratch / "cache");
  Store store(settings, silent());
  Building building(store, log);
  const pid_t child = start_fork([] { return ::pause(); });
  building.end();
  Store other(settings, silent());
  other.reject(key_of(0), other.find(key_of(0)));
  Store third(settings, silent());
  EXPECT_TRUE(right(third.get_or_build(key_of(0), log.build(0)).entry, 0));
  EXPECT_EQ(third.counters().lease_waits, 0U);
  kill_and_wait(child);
}

// Such a thread's file can be opened and then not be read.
TEST(Fork, AThreadThatEndsWhileItIsLookedAtIsNoError) {
  std::atomic<int> id{0};
  std::atomic<bool> end{false};
  std::thread thread([&] {
    id = ::gettid();
    while (!end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (id == 0) std::this_thread::yield();
  const std::string path = cat("/proc/self/task/", id.load(), "/stat");
  std::ifstream state(path);
  EXPECT_TRUE(state.is_open());
  end = true;
  thread.join();
  while (std::filesystem::exists(path)) std::this_thread::yield();
  EXPECT_TRUE(sleeps(state));
}

// ---- the number 1

// In a process that is the first of its namespace: the parent's counter, and a number that all have.
int write_as_first(const std::string& dir, const std::string& names, const std::string& check, int keys) {
  const Tally tally(names);
  if (::getpid() != 1) return 1;
  pass_check(check);
  for (int number = 0; number < keys; ++number) {
    tally.add({{staging_name(), 1}});
    Store store(in(dir), silent());
    store.put(key_of(number), image_of(number));
    if (store.counters().not_stored + store.counters().failures != 0) return 2;
  }
  return 0;
}

// As a container runtime does it. The exit status is the first process's own, or 77 where that is not permitted.
int in_a_namespace(const std::function<int()>& work) {
  if (::unshare(CLONE_NEWPID) != 0) return 77;
  return wait_for(start_fork([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // SIGALRM does nothing to a first process
    return work();
  }));
}

TEST(Fork, StagingNamesOfContainersDiffer) {
  if (wait_for(start_fork([] { return in_a_namespace([] { return 0; }); })) != 0)
    GTEST_SKIP() << "not permitted to make a process namespace";
  const int containers = sized(16, 4), keys = sized(100, 20);
  const Scratch scratch;
  CorrectnessCheck check;
  std::vector<pid_t> started;
  for (int i = 0; i < containers; ++i)
    started.push_back(start_fork([&] {
      check.leave_to_parent();
      return in_a_namespace(
          [&] { return write_as_first(scratch / "cache", scratch / "names", check.argument(), keys); });
    }));
  check.let_through(containers);
  for (const pid_t process : started) EXPECT_EQ(wait_for(process), 0);
  std::set<std::string> names;
  int lines = 0;
  std::ifstream file(scratch / "names");
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_TRUE(line.starts_with(".staging.1.")) << line;
    names.insert(line);
  }
  EXPECT_EQ(lines, containers * keys);
  EXPECT_EQ(names.size(), static_cast<std::size_t>(lines));
  EXPECT_EQ(left_behind(scratch / "cache"), std::vector<std::string>{});
  expect_sound(scratch / "cache", keys);
  figures(cat("containers: ", containers, " processes with the number 1 wrote ", keys, " keys each; ", names.size(),
              " different names"));
}

// ---- the name of the host

// The names below a directory while an image is built and when it is there; empty where they could not be had.
std::set<std::string> names_while_building(const std::string& dir) {
  std::set<std::string> names;
  const auto look = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir))
      names.insert(std::filesystem::relative(entry.path(), dir).string());
  };
  Store store(in(dir), silent());
  store.get_or_build(key_of(0), [&] {
    look();
    return image_of(0);
  });
  store.flush();
  look();
  return names;
}

// Linux takes 64 bytes, of any kind: a name of 200, or one with a slash, must not be part of a path.
TEST(Fork, NoPathHasTheNameOfTheHost) {
  const Scratch scratch;
  const std::set<std::string> usual = names_while_building(scratch / "usual");
  EXPECT_GE(usual.size(), 4U) << "a folder, an image, .leases and a lease";
  const int status = wait_for(start_fork([&] {
    const std::string odd = "../" + std::string(61, '\n');
    if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(odd.data(), odd.size()) != 0) return 77;
    return names_while_building(scratch / "odd") == usual ? 0 : 1;
  }));
  if (status == 77) GTEST_SKIP() << "not permitted to name a host";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace quern::cache
