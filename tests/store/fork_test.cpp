// A process forks after using its store; containers in which every process has the pid 1.
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

// A thread of the parent is building key 0 until `end` is set.
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

// A child uses its parent's store; the thread with the lease does not exist in the child.
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

// A surviving child has the lease's open file too: it must not keep the lease.
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

// Such a thread's file can be opened, but reading it may fail.
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

// ---- pid 1

// In the first process of a pid namespace: the parent's counter, and a pid that all have.
int write_as_first(const std::string& dir, const std::string& names, const std::string& barrier, int keys) {
  const Tally tally(names);
  if (::getpid() != 1) return 1;
  pass_barrier(barrier);
  for (int number = 0; number < keys; ++number) {
    tally.add({{staging_name(), 1}});
    Store store(in(dir), silent());
    store.put(key_of(number), image_of(number));
    if (store.counters().not_stored + store.counters().failures != 0) return 2;
  }
  return 0;
}

// As a container runtime does it. Returns the exit status of the first process, or 77 if that is not permitted.
int in_a_namespace(const std::function<int()>& work) {
  if (::unshare(CLONE_NEWPID) != 0) return 77;
  return wait_for(start_fork([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // SIGALRM does not end the first process of a namespace
    return work();
  }));
}

TEST(Fork, StagingNamesOfContainersDiffer) {
  if (wait_for(start_fork([] { return in_a_namespace([] { return 0; }); })) != 0)
    GTEST_SKIP() << "not permitted to make a process namespace";
  const int containers = sized(16, 4), keys = sized(100, 20);
  const Scratch scratch;
  ProcessBarrier barrier;
  std::vector<pid_t> started;
  for (int i = 0; i < containers; ++i)
    started.push_back(start_fork([&] {
      barrier.leave_to_parent();
      return in_a_namespace(
          [&] { return write_as_first(scratch / "cache", scratch / "names", barrier.argument(), keys); });
    }));
  barrier.let_through(containers);
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

// ---- the host name

// The names below a directory during a build and after it; empty if they could not be listed.
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

// Linux accepts any 64 bytes: a name of 200, or one with a slash, must not be part of a path.
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
