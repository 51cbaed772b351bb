// The process that builds while others wait is stopped, never finishes, or is killed: every process gets an image, at
// the latest when the lease expires.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/support.h"

namespace quern::cache {
namespace {

using std::chrono::milliseconds;

// The real times in full runs, a twentieth of them otherwise.
LeaseTimes short_times() {
  return sized(LeaseTimes{}, {milliseconds(50), milliseconds(500), milliseconds(1000), milliseconds(10)});
}

// A dead owner's lock is released at once: these times must not matter.
LeaseTimes long_times() { return {milliseconds(1000), milliseconds(60000), milliseconds(60000), milliseconds(10)}; }

StoreSettings with(const std::string& dir, const LeaseTimes& times) {
  StoreSettings settings = sweeping(dir);
  settings.writer.lease = times;
  return settings;
}

LeaseTimes times_named(const std::string& name) { return name == "short" ? short_times() : long_times(); }

// DIR LOG TIMES stop|hang|kill: builds key 0, with an accident in the middle of the build.
int lead(const Arguments& arguments) {
  const BuildLog log(arguments[1]);
  Store store(with(arguments[0], times_named(arguments[2])), silent());
  const auto found = store.get_or_build(key_of(0), [&] {
    log.add(0);
    if (arguments[3] == "stop") ::raise(SIGSTOP);
    if (arguments[3] == "kill") ::raise(SIGKILL);
    while (arguments[3] == "hang") ::pause();
    return image_of(0);
  });
  return why_wrong(*found.entry, 0).empty() ? 0 : 1;
}
const WorkerRow kLead("lead", lead);

// DIR LOG TIMES TALLY GATE: requests key 0, and another one that does not exist yet.
int follow(const Arguments& arguments) {
  const BuildLog log(arguments[1]);
  Store store(with(arguments[0], times_named(arguments[2])), silent());
  pass_barrier(arguments[4]);
  const Stopwatch watch;
  const auto found = store.get_or_build(key_of(0), log.build(0));
  const auto waited = static_cast<std::uint64_t>(watch.seconds() * 1000);
  const auto other = store.get_or_build(key_of(1), log.build(1));
  Tally tally(arguments[3]);
  tally.add(store.counters());
  tally.add({{"waited_ms", waited}});
  return why_wrong(*found.entry, 0).empty() && why_wrong(*other.entry, 1).empty() ? 0 : 1;
}
const WorkerRow kFollow("follow", follow);

class Leader : public testing::Test {
 protected:
  // Runs the other processes while the leader stays in this state.
  void run(const std::string& accident, const std::string& times) {
    leader_ = start_worker("lead", {dir_, scratch_ / "builds", times, accident});
    while (log_.total() == 0) std::this_thread::sleep_for(milliseconds(1));
    start_others(times);
    end_others();
  }

  void start_others(const std::string& times) {
    ProcessBarrier barrier;
    for (int i = 0; i < kOthers; ++i) {
      const Arguments arguments{dir_, scratch_ / "builds", times, scratch_ / "tally", barrier.argument()};
      others_.push_back(start_worker("follow", arguments));
    }
    barrier.let_through(kOthers);
  }

  void end_others() {
    for (const pid_t process : others_) EXPECT_EQ(wait_for(process), 0);
    for (const char* name : {"failures", "not_stored", "damaged", "foreign", "unreadable"})
      EXPECT_EQ(tally_.sum(name), 0U) << name;
    EXPECT_EQ(log_.counts()[1], 1);
  }

  void report(const std::string& accident) {
    expect_sound(dir_, 2);
    figures(cat("leader ", accident, ": ", kOthers, " processes, ", log_.counts()[0] - 1,
                " builds after the leader's, ", tally_.sum("lease_timeouts"), " gave up waiting, the longest wait ",
                tally_.most("waited_ms"), " ms"));
  }

  // Finding A14: all of them built.
  void expect_one_to_build_in_its_place() {
    EXPECT_EQ(tally_.sum("lease_timeouts"), 1U);
    EXPECT_EQ(log_.counts()[0], 2) << "the leader's build, and one more";
  }

  static inline const int kOthers = sized(64, 16);
  const Scratch scratch_;
  const std::string dir_ = scratch_ / "cache";
  const BuildLog log_{scratch_ / "builds"};
  const Tally tally_{scratch_ / "tally"};
  std::vector<pid_t> others_;
  pid_t leader_ = 0;
};

TEST_F(Leader, ThatIsStoppedDelaysByTheExpiry) {
  run("stop", "short");
  expect_one_to_build_in_its_place();
  ::kill(leader_, SIGCONT);  // the leader finishes its build normally
  EXPECT_EQ(wait_for(leader_), 0);
  report(cat("stopped (expiry ", short_times().expiry.count(), " ms)"));
}

TEST_F(Leader, ThatNeverEndsItsBuildDelaysByTheLongestWait) {
  run("hang", "short");
  expect_one_to_build_in_its_place();
  kill_and_wait(leader_);
  report(cat("hanging (longest wait ", short_times().longest.count(), " ms)"));
}

TEST_F(Leader, ThatIsKilledBeforehandDelaysNobody) {
  run("kill", "long");
  EXPECT_EQ(wait_for(leader_), -SIGKILL);
  EXPECT_EQ(tally_.sum("lease_timeouts"), 0U);
  EXPECT_EQ(log_.counts()[0], 2);
  report("killed");
}

// DIR LOG TIMES FILE: builds until FILE exists, then is killed.
int lead_for_a_while(const Arguments& arguments) {
  const BuildLog log(arguments[1]);
  Store store(with(arguments[0], times_named(arguments[2])), silent());
  store.get_or_build(key_of(0), [&]() -> Entry {
    log.add(0);
    while (!std::filesystem::exists(arguments[3])) std::this_thread::sleep_for(milliseconds(1));
    ::raise(SIGKILL);
    return {};
  });
  return 1;
}
const WorkerRow kLeadForAWhile("lead_for_a_while", lead_for_a_while);

TEST_F(Leader, ThatIsKilledWhileOthersWaitIsFollowedByOne) {
  leader_ = start_worker("lead_for_a_while", {dir_, scratch_ / "builds", "long", scratch_ / "end"});
  while (log_.total() == 0) std::this_thread::sleep_for(milliseconds(1));
  start_others("long");
  std::this_thread::sleep_for(milliseconds(200));
  overwrite(scratch_ / "end", "");
  EXPECT_EQ(wait_for(leader_), -SIGKILL);
  end_others();
  EXPECT_GT(tally_.sum("lease_waits"), 0U);
  EXPECT_EQ(tally_.sum("lease_timeouts"), 0U);
  EXPECT_EQ(log_.counts()[0], 2);
  report("killed while others wait");
}

}  // namespace
}  // namespace quern::cache
