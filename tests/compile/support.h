// Many problems through NVRTC, on two threads, into memory.
#ifndef QUERN_TESTS_COMPILE_SUPPORT_H_
#define QUERN_TESTS_COMPILE_SUPPORT_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quern/quern.h"

namespace quern::test {

inline const std::vector<std::string> kArchitectures = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};

struct Job {
  std::string problem;
  std::string arch;
  std::string config = {};  // changes to the default, "unroll=2"
};

struct Compiled {
  Job job;
  Prewarmed result;  // empty where `error` is not
  std::string error;
};

// Skips, visibly, if there is no NVRTC. QUERN_NVRTC names the one to test.
class CompileTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // In the order of the jobs.
  std::vector<Compiled> compile(const std::vector<Job>& jobs);
  Compiled compile(const std::string& problem, const std::string& arch, const std::string& config = {}) {
    return compile(std::vector<Job>{{problem, arch, config}}).front();
  }
  // Compiles the jobs, QUERN_TEST_STRIDE=N an N-th of them, always the same.
  void expect_each_good(const std::vector<Job>& jobs) { expect_good(compile(part_of(jobs))); }
  // Each compiled, nothing spilled, few registers, the PTX for the architecture.
  void expect_good(const std::vector<Compiled>& all);

 private:
  static std::vector<Job> part_of(const std::vector<Job>& jobs);
};

// Runtime of the whole program: every problem's images are compiled once.
Runtime& shared_runtime();

// How many instructions of image `i` move `bytes` to (store) or from global memory.
int accesses(const Compiled& compiled, int image, bool store, int bytes);
// The widths, ascending: "2 16".
std::string widths(const Compiled& compiled, int image, bool store);
// The value of a parameter in the image's config.
int parameter(const Compiled& compiled, int image, const std::string& name);

}  // namespace quern::test

#endif  // QUERN_TESTS_COMPILE_SUPPORT_H_
