// The CPU as the device of a quern_runtime: QUERN_DEVICE=host.
#ifndef QUERN_C_HOST_DEVICE_H_
#define QUERN_C_HOST_DEVICE_H_

#include <memory>

#include "driver/driver.h"
#include "tensors/arguments.h"

namespace quern::c {

// The host driver with its primary context. Thread-safe.
class HostDevice {
 public:
  explicit HostDevice(std::shared_ptr<Driver> driver);
  ~HostDevice();
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  const std::shared_ptr<Driver>& driver() const { return driver_; }
  // Makes its context current for the calling thread. The host driver has its own, so this disturbs no CUDA context.
  void enter() const;

 private:
  std::shared_ptr<Driver> driver_;
  CUcontext context_ = nullptr;
};

// Copies of a launch's tensors in the memory of the host driver, which checks each access against its allocations. The
// arguments are redirected to them.
class HostCopies {
 public:
  HostCopies(const HostDevice& device, const Arguments& arguments, const Given& given, FilledArguments& filled);
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;
  // Waits for the stream, then copies results back. Throws Error if a kernel failed.
  void finish(CUstream stream);

 private:
  struct Copy {
    CUdeviceptr memory;
    void* tensor;  // null: an input
    std::size_t bytes;
  };
  void add(const Place& place, const quern_tensor& tensor, std::size_t bytes);

  const HostDevice& device_;
  std::vector<Copy> copies_;
};

}  // namespace quern::c

#endif  // QUERN_C_HOST_DEVICE_H_
