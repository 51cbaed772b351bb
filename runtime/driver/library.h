// A loaded image: the driver's library, its kernel, and the function in the context that was current.
#ifndef QUERN_DRIVER_LIBRARY_H_
#define QUERN_DRIVER_LIBRARY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "driver/driver.h"

namespace quern {

class Library {
 public:
  // Loads `image` (cubin, or PTX text for the driver's JIT) and the function `kernel` in the current context, so that a
  // first launch inside a graph capture has nothing left to load. Throws Error.
  Library(std::shared_ptr<const Driver> driver, const std::string& image, const std::string& kernel);
  ~Library();  // unloads, unless the process exits or has forked
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  CUfunction function() const { return function_; }
  // Dynamic shared memory that a block may use without opting in.
  static constexpr std::uint32_t kSharedWithoutAsking = 48 << 10;
  // Raises the limit of dynamic shared memory per block, if the kernel's is lower. Returns success if it was already
  // allowed. Takes no lock: concurrent callers both make the driver call.
  CUresult allow_shared(std::uint32_t bytes) const {
    return bytes <= shared_limit_.load(std::memory_order_relaxed) ? CUDA_SUCCESS : raise_shared_limit(bytes);
  }
  int attribute(CUfunction_attribute which) const;
  int blocks_per_multiprocessor(int threads, std::size_t shared_bytes) const;

 private:
  CUresult raise_shared_limit(std::uint32_t bytes) const;

  mutable std::atomic<std::uint32_t> shared_limit_{kSharedWithoutAsking};
  std::shared_ptr<const Driver> driver_;
  CUlibrary library_ = nullptr;
  CUfunction function_ = nullptr;
};

// Whether this driver error means that the image is at fault, so that rebuilding it may help.
bool image_rejected(CUresult result);

}  // namespace quern

#endif  // QUERN_DRIVER_LIBRARY_H_
