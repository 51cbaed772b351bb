// A kernel with its source in a test: compiled for the current device, launched, and its results read.
#ifndef QUERN_TESTS_SUPPORT_TEST_KERNEL_H_
#define QUERN_TESTS_SUPPORT_TEST_KERNEL_H_

#include <cstring>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "driver/device.h"
#include "driver/library.h"
#include "driver/stream.h"
#include "quern/error.h"

namespace quern::test {

// Grid, block and other launch parameters.
struct Shape {
  unsigned blocks = 1;  // of grid.x
  unsigned threads = 32;
  unsigned shared_bytes = 0;
  unsigned cluster = 1;
  bool cooperative = false;
  unsigned parts = 1;  // grid.y
};

class TestKernel {
 public:
  // `body` is the body of `extern "C" __global__ void quern_test(Params)`, with `n` and `out` (i32s) in scope; `before`
  // is placed at namespace scope. `instead` replaces files of templates/common.
  TestKernel(Compiler& compiler, std::shared_ptr<const Driver> driver, const std::string& body,
             const std::string& before = "", const std::vector<SourceText>& instead = {});

  // Returns `count` numbers of out after the kernel; initially they are `before`.
  std::vector<int> run(const Shape& shape, int count, int n = 0, int before = -1) const;
  // Returns the driver's code of the launch and of waiting for it; `out` has `count` numbers.
  CUresult outcome(const Shape& shape, int count, int n = 0) const;
  const Library& library() const { return library_; }

 private:
  CUresult launch(const Shape& shape, CUdeviceptr out, int n) const;
  std::shared_ptr<const Driver> driver_;
  Image image_;
  Library library_;
};

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_TEST_KERNEL_H_
