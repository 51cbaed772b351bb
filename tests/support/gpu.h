// The fixture of the gpu tier: skips, visibly, where there is no device.
#ifndef QUERN_TESTS_SUPPORT_GPU_H_
#define QUERN_TESTS_SUPPORT_GPU_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "api/runtime_state.h"
#include "driver/device.h"
#include "quern/runtime.h"
#include "skeleton/skeleton.h"

namespace quern::test {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_.add(Skeleton::family());
    try {
      driver_ = runtime_.state().driver();
      context_.emplace(*driver_, 0);
    } catch (const Error& error) {
      GTEST_SKIP() << "no GPU here: " << error.sentence.substr(0, error.sentence.find('\n'));
    }
  }

  Runtime& runtime() { return runtime_; }
  const Driver& driver() { return *driver_; }

 private:
  Runtime runtime_;
  std::shared_ptr<Driver> driver_;
  std::optional<PrimaryContext> context_;
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_GPU_H_
