// What the tests with many processes share: numbered keys, images of which no two are alike, a log of builds, worker
// processes and the check that lets them all through at once.
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

// Whether the sizes of the specification are asked for, QUERN_TEST_FULL=1: that takes some hours.
bool in_full();
template <class Size>
Size sized(Size full, Size bounded) {
  return in_full() ? full : bounded;
}

// One plain line a test, to be kept beside the code.
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

// Valid bytes that no other call gives, here or in another process, and the key's text in cubin and PTX: what mixes two
// builds, or belongs to another key, is not taken for right.
Entry image_of(int number);
// Empty if it is one whole result of image_of(number).
std::string why_wrong(const Entry& entry, int number);

// Of build calls, by any number of processes: a line each, outside of the cache's directory.
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

// The numbers that processes add up: "name=value …" a line.
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

// A function that this program runs instead of the tests when it is started as `--worker NAME …`.
struct WorkerRow {
  WorkerRow(const char* name, Worker worker);
};
// The exit status of the worker that the command line names, if it names one.
std::optional<int> run_worker(int argc, char** argv);

// A process of its own that runs a worker: this program once more.
pid_t start_worker(const std::string& name, const Arguments& arguments);
// The same by fork alone, for what is done thousands of times. Other threads of this process hold no lock meanwhile.
template <class Work>
pid_t start_fork(const Work& work);
// Exit status, or minus the signal that ended it.
int wait_for(pid_t process);
void kill_and_wait(pid_t process);

// A worker that hangs is ended by SIGALRM, so that the test fails and does not hang as well.
void end_if_hung();

// Holds processes up until all are there.
class CorrectnessCheck {
 public:
  CorrectnessCheck();
  ~CorrectnessCheck();
  CorrectnessCheck(const CorrectnessCheck&) = delete;
  CorrectnessCheck& operator=(const CorrectnessCheck&) = delete;
  std::string argument() const;  // for pass_check, in a process that was started meanwhile
  void let_through(int processes);
  void leave_to_parent();  // in a process that was forked meanwhile, and has all that is open here

 private:
  int ready_[2];
  int release_[2];
};
void pass_check(const std::string& argument);

// ---- directories

// Staging and lease files.
std::vector<std::string> left_behind(const std::string& dir);
// The sizes of the images and remembered failures, and how many there are.
Limits stored_in(const std::string& dir);
// Why the account of `dir` claims less than there is; empty where it does not, or where there is none to believe.
std::string why_account_short(const std::string& dir);

// The settings of in(), with which a sweep takes every staging and lease file that no process here holds, however new.
StoreSettings sweeping(const std::string& dir);

// Does not wait for the disk: where nobody loses power.
class UnsyncedFiles : public ForwardingFileSystem {
 public:
  long sync(int) override { return 0; }
  long sync_all(const std::string&) override { return 0; }
};

// What must hold of a directory after anything that can happen to a writer: each of the keys 0 … keys - 1 is a right
// hit or a miss, nothing is damaged, a sweep leaves nothing behind, the account is not short, and building goes on.
void expect_sound(const std::string& dir, int keys);

// Whether the thread sleeps, or has ended, of which `state` is /proc/PID/task/TID/stat.
bool sleeps(std::istream& state);

// Address sanitizer's allocator keeps its locks over a fork: one that a thread held which was just starting hangs the
// child. Returns when all others sleep, at once in any other build.
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
