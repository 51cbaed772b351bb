// The CPU as the device of a quern_runtime: QUERN_DEVICE=host.
#ifndef QUERN_C_HOST_DEVICE_H_
#define QUERN_C_HOST_DEVICE_H_

#include <memory>
#include <vector>

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

// Copies of a launch's tensors in the memory of the host driver, which checks each access against its allocations.
// Tensors that overlap, as parts of one matrix do, share a copy.
class HostCopies {
 public:
  explicit HostCopies(const HostDevice& device) : device_(device) {}
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;
  // Makes them, and redirects the arguments to them. REQUIRES: called once.
  void make(const Arguments& arguments, const Given& given, FilledArguments& filled);
  // Waits for the stream, then copies results back. Throws Error if a kernel failed.
  void finish(CUstream stream);

 private:
  struct Copy {
    CUdeviceptr memory;
    std::size_t offset;  // in it
    unsigned char* data;
    std::size_t bytes;
    bool written;  // a tensor in it is not only read
  };
  struct Part {
    unsigned char* data;
    std::int64_t bytes;
    std::size_t tensor;
  };
  // Of the parts from `first` to before `last`, which end at `end`. Returns where their data begins.
  unsigned char* add(const Arguments& arguments, const std::vector<Part>& parts, std::size_t first, std::size_t last,
                     const unsigned char* end);

  const HostDevice& device_;
  std::vector<Copy> copies_;
};

}  // namespace quern::c

#endif  // QUERN_C_HOST_DEVICE_H_
