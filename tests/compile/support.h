// Many problems through NVRTC, on two threads, into memory.
#ifndef QUERN_TESTS_COMPILE_SUPPORT_H_
#define QUERN_TESTS_COMPILE_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstdint>
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
  // With QUERN_TEST_STRIDE=N an N-th of `all`, always the same, at least one; without it, all.
  template <typename T>
  static std::vector<T> part_of(const std::vector<T>& all) {
    return part_of(all, stride());
  }
  // Compiles part_of(jobs).
  void expect_each_good(const std::vector<Job>& jobs) { expect_good(compile(part_of(jobs))); }
  // Where each takes a second or more: half an N-th of them; all where expect_each_good takes all.
  void expect_each_costly_good(const std::vector<Job>& jobs) {
    expect_good(compile(part_of(jobs, stride() == 1 ? 1 : 2 * stride())));
  }
  // Each compiled, nothing spilled, few registers, the PTX for the architecture.
  void expect_good(const std::vector<Compiled>& all);

  // How many images these problems need, by their keys. Compiles part_of those problems that need one first.
  std::size_t images_of(const std::vector<Job>& jobs);
  // Each problem with the default config and with this one, one after the other. Compiles part_of the problems.
  std::vector<Compiled> compile_with_and_without(const char* config, const std::vector<Job>& jobs);

 private:
  template <typename T>
  static std::vector<T> part_of(const std::vector<T>& all, std::uint64_t stride) {
    std::vector<T> part;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (hash_of(i) % stride == 0) part.push_back(all[i]);
    }
    if (part.empty() && !all.empty()) part.push_back(all.front());
    return part;
  }
  static std::uint64_t stride();
  // Of every N-th, some types or architectures would never come, since they come in turn.
  static std::uint64_t hash_of(std::size_t i);
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
