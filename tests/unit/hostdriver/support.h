// Shared by the host driver's tests: a temporary current context, and an image to launch.
#ifndef QUERN_TESTS_UNIT_HOSTDRIVER_SUPPORT_H_
#define QUERN_TESTS_UNIT_HOSTDRIVER_SUPPORT_H_

#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "driver/host_controls.h"
#include "hostdriver/api/entry_points.h"

namespace quern::host::test {

// The parameter of the test image's kernel, "act": the action of its only thread.
struct Act {
  enum What : int { store, sleep_then_store, copy, wait_then_store };
  unsigned* out = nullptr;
  const unsigned* in = nullptr;
  unsigned value = 0;
  int what = store;
  int milliseconds = 0;
  const std::atomic<bool>* open = nullptr;
};

// A gate that kernels wait for, so that a test of a running kernel needs no clock. Open at the end.
class HeldKernels {
 public:
  HeldKernels() = default;
  ~HeldKernels() { open(); }
  HeldKernels(const HeldKernels&) = delete;
  HeldKernels& operator=(const HeldKernels&) = delete;
  void open() { open_ = true; }
  // Returns when the gate is open.
  Act store(CUdeviceptr out, unsigned value) const {
    return {reinterpret_cast<unsigned*>(out), nullptr, value, Act::wait_then_store, 0, &open_};
  }

 private:
  std::atomic<bool> open_{false};
};

// The bytes of an image that is built with the system's compiler, once. At most 128 threads; 256 static shared bytes.
const std::string& test_image();
// Builds a shared object from `source`; for images that are to be refused.
std::string build_image(const std::string& source);
std::string last_report_text();

class HostDriver : public ::testing::Test {
 protected:
  void SetUp() override;
  // Destroys the context and expects that no object is left.
  void TearDown() override;

  CUdeviceptr allocate(std::size_t bytes);
  // Loads the test image.
  CUfunction load();
  CUlibrary library() const { return library_; }
  static CUresult launch(CUfunction function, CUstream stream, Act act, CUlaunchConfig config = one_thread());
  static CUlaunchConfig one_thread();
  static Act store(CUdeviceptr out, unsigned value);
  static Act store_late(CUdeviceptr out, unsigned value, int milliseconds);
  static Act copy(CUdeviceptr out, CUdeviceptr in);
  static unsigned read(CUdeviceptr from);

 private:
  CUlibrary library_ = nullptr;
};

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS) << last_report_text()
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS) << last_report_text()

}  // namespace quern::host::test

#endif  // QUERN_TESTS_UNIT_HOSTDRIVER_SUPPORT_H_
