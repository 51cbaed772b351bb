// The fixture of tests that run on a device: in the gpu tier a GPU, where the test is reported as skipped if there is
// none; in the host tier (QUERN_TEST_DEVICE=host) the host driver, which every machine has.
#ifndef QUERN_TESTS_SUPPORT_DEVICE_H_
#define QUERN_TESTS_SUPPORT_DEVICE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "api/runtime_state.h"
#include "driver/device.h"
#include "driver/find_host_driver.h"
#include "quern/runtime.h"
#include "skeleton/skeleton.h"
#include "support/scratch.h"

namespace quern::test {

inline bool on_host() {
  const char* device = std::getenv("QUERN_TEST_DEVICE");  // NOLINT(concurrency-mt-unsafe)
  return device != nullptr && std::string_view(device) == "host";
}

// One for the whole program, so that each image is made once.
inline const std::string& cache_of_this_program() {
  static const Scratch folder;
  return folder.path();
}

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      options_.cache.directory = cache_of_this_program();
      options_.driver = on_host() ? open_host_driver(Environment::read()) : Driver::open({});
      runtime_.emplace(options_);
      runtime_->add(Skeleton::family());
      context_.emplace(driver(), 0);
    } catch (const Error& error) {
      if (on_host()) throw;
      GTEST_SKIP() << "no GPU here: " << error.sentence.substr(0, error.sentence.find('\n'));
    }
  }

  // With the driver of this tier.
  const Options& options() const { return options_; }
  Runtime& runtime() { return *runtime_; }
  const Driver& driver() const { return *options_.driver; }
  void synchronize() const { driver().check(driver()->CtxSynchronize(), Stage::tool, "cuCtxSynchronize"); }

  // For tests that break a context: releases the primary context and retains a new one.
  void renew_context() {
    context_.reset();
    context_.emplace(driver(), 0);
  }

 private:
  Options options_;
  std::optional<Runtime> runtime_;
  std::optional<PrimaryContext> context_;
};

// For tests of features of the host driver.
class HostTest : public DeviceTest {
 protected:
  void SetUp() override {
    if (!on_host()) GTEST_SKIP() << "of the host tier";
    DeviceTest::SetUp();
    configure(kDefaults);
  }
  void TearDown() override {
    if (!on_host()) return;
    driver().host().Inject("clear");
    configure(kDefaults);
  }
  static constexpr const char* kDefaults =
      "seed=0 workers=0 dead_wait_ms=10000 check_bounds=1 check_initialized=1 check_races=1 say_raw=0";
  void configure(const char* settings) const {
    ASSERT_EQ(driver().host().Configure(settings), CUDA_SUCCESS) << report();
  }
  void inject(const std::string& fault) const {
    ASSERT_EQ(driver().host().Inject(fault.c_str()), CUDA_SUCCESS) << report();
  }
  std::string report() const {
    std::string words(driver().host().Report(nullptr, 0), '\0');
    driver().host().Report(words.data(), words.size() + 1);
    return words;
  }
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_DEVICE_H_
