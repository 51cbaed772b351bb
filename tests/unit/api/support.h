// Common parts of the tests of the Runtime: a driver that counts calls, a fake compiler, and a log in memory.
#ifndef QUERN_TESTS_UNIT_API_SUPPORT_H_
#define QUERN_TESTS_UNIT_API_SUPPORT_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "quern/quern.h"
#include "support/has.h"
#include "testbench/null_driver.h"
#include "unit/api/fake_nvrtc.h"
#include "unit/cache/support.h"

namespace quern::test {

// The null driver, one call at a time, so that its counters may be read while several threads prepare.
std::shared_ptr<Driver> counting_driver();
// The number of calls of all entry points of all counting drivers until now.
int driver_calls();

// The log of a Runtime.
class KeptLog {
 public:
  LogSink sink();
  // The number of lines of this level that contain `words`.
  int count(LogLevel level, const std::string& words = "");
  std::string all();

 private:
  std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

// The error that `f` throws.
template <class F>
Error refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {Code::bad_input, Stage::tool, ""};
}

// Returns the result of `f` in a forked child, 0 to 255; -1 if the child hung for ten seconds and was killed.
template <class F>
int in_child(F f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(f());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Reports the test as skipped if the fake compiler cannot be built.
class ApiTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Memory only, no records, a null driver, the fake compiler, the log into `log_`.
  Options options();
  Options options(const std::string& cache_dir);
  // The number of the fake compiler's compiles.
  int compiles() const { return control().compiles; }
  FakeControl& control() const { return *fake_nvrtc().control; }
  void hold(const std::string& text);
  void release() { control().hold = 0; }
  // False if that did not happen within ten seconds.
  bool wait_for_held(int count) const;

  const cache::Scratch scratch_;
  KeptLog log_;
};

// Keys of all images, sorted.
std::vector<std::string> keys(const std::vector<ImageInfo>& images);

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_API_SUPPORT_H_
