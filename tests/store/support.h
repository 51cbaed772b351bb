// Shared by the tests with several processes: numbered keys, unique images, a log of builds, worker processes and a
// barrier that starts them all at once.
#ifndef QUERN_TESTS_STORE_SUPPORT_H_
#define QUERN_TESTS_STORE_SUPPORT_H_

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "unit/cache/support.h"

namespace quern::cache {

// ---- sizes and figures

// Whether the sizes of the specification are requested, QUERN_TEST_FULL=1: that takes some hours.
bool in_full();
template <class Size>
Size sized(Size full, Size bounded) {
  return in_full() ? full : bounded;
}

// One plain line per test, to be kept with the code.
void figures(const std::string& line);

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  std::string text() const;  // "1.5 s"

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// ---- images

using Random = std::mt19937_64;
inline int below(Random& random, int end) { return static_cast<int>(random() % static_cast<std::uint64_t>(end)); }

Key key_of(int number);
std::vector<int> shuffled(int keys, Random& random);

// Valid bytes that no other call returns, here or in another process, with the key's text in cubin and PTX: a mixture
// of two builds, or another key's image, is detected.
Entry image_of(int number);
// Empty if it is one complete result of image_of(number).
std::string why_wrong(const Entry& entry, int number);

// A log of build calls, by any number of processes: one line each, outside of the cache's directory.
class BuildLog {
 public:
  explicit BuildLog(std::string path) : path_(std::move(path)) {}
  void add(int number) const;
  std::map<int, int> counts() const;  // by key
  int total() const;
  Store::Build build(int number, std::chrono::microseconds time = {}) const;

 private:
  std::string path_;
};

// Counters that the processes add up: one line "name=value …" each.
class Tally {
 public:
  explicit Tally(std::string path) : path_(std::move(path)) {}
  void add(const std::vector<std::pair<std::string, std::uint64_t>>& numbers) const;
  void add(const Counters& counters) const;
  std::uint64_t sum(const std::string& name) const;
  std::uint64_t most(const std::string& name) const;

 private:
  std::vector<std::uint64_t> values(const std::string& name) const;
  std::string path_;
};

// ---- processes

using Arguments = std::vector<std::string>;
using Worker = int (*)(const Arguments& arguments);

// A function that this program runs instead of the tests if it is started as `--worker NAME …`.
struct WorkerRow {
  WorkerRow(const char* name, Worker worker);
};
// The exit status of the worker named on the command line, if there is one.
std::optional<int> run_worker(int argc, char** argv);

// A separate process that runs a worker: this program, started again.
pid_t start_worker(const std::string& name, const Arguments& arguments);
// The same by fork alone, for work that is done thousands of times. No other thread of this process may hold a lock
// then.
template <class Work>
pid_t start_fork(const Work& work);
// Exit status, or minus the signal that ended it.
int wait_for(pid_t process);
void kill_and_wait(pid_t process);

// SIGALRM ends a hanging worker, so that the test fails instead of hanging as well.
void end_if_hung();

// A barrier for processes.
class ProcessBarrier {
 public:
  ProcessBarrier();
  ~ProcessBarrier();
  ProcessBarrier(const ProcessBarrier&) = delete;
  ProcessBarrier& operator=(const ProcessBarrier&) = delete;
  std::string argument() const;  // for pass_barrier, in a process started meanwhile
  void let_through(int processes);
  void leave_to_parent();  // in a process forked meanwhile, which has inherited all open files

 private:
  int ready_[2];
  int release_[2];
};
void pass_barrier(const std::string& argument);

// ---- directories

// Staging and lease files.
std::vector<std::string> left_behind(const std::string& dir);
// The sizes of the images and remembered failures, and how many there are.
Limits stored_in(const std::string& dir);
// Why the account of `dir` claims less than the actual usage; empty if it does not, or if there is no valid account.
std::string why_account_short(const std::string& dir);

// The settings of in(), with a scan that removes every staging and lease file that no process here holds, however new.
StoreSettings sweeping(const std::string& dir);

// Does not wait for the disk: for tests without power failures.
class UnsyncedFiles : public ForwardingFileSystem {
 public:
  long sync(int) override { return 0; }
  long sync_all(const std::string&) override { return 0; }
};

// The invariants of a directory after any accident of a writer: each of the keys 0 … keys - 1 is a correct hit or a
// miss, nothing is damaged, a full scan leaves no abandoned files, the account is not too small, and building still
// works.
void expect_sound(const std::string& dir, int keys);

// Whether the thread with this /proc/PID/task/TID/stat, `state`, sleeps or has ended.
bool sleeps(std::istream& state);

// AddressSanitizer's allocator does not release its locks at a fork: a lock held by a starting thread hangs the child.
// Returns when all other threads sleep; at once in any other build.
void let_others_rest();

template <class Work>
pid_t start_fork(const Work& work) {
  let_others_rest();
  const pid_t process = ::fork();
  if (process != 0) return process;
  end_if_hung();
  int status = 99;
  try {
    status = work();
  } catch (...) {
  }
  ::_exit(status);
}

}  // namespace quern::cache

#endif  // QUERN_TESTS_STORE_SUPPORT_H_
