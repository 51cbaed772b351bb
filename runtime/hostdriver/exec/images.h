// A host image in the process: a shared object loaded from bytes.
#ifndef QUERN_HOSTDRIVER_EXEC_IMAGES_H_
#define QUERN_HOSTDRIVER_EXEC_IMAGES_H_

#include "common/twin_abi.cuh"
#include "hostdriver/exec/clock.h"

namespace quern::host {

class HostImage {
 public:
  // Throws Refusal (INVALID_IMAGE) if `bytes` are not a host image; the size is read from the ELF header.
  explicit HostImage(const void* bytes);
  ~HostImage();
  HostImage(const HostImage&) = delete;
  HostImage& operator=(const HostImage&) = delete;

  const twin::Image& operator*() const { return *image_; }
  const twin::Image* operator->() const { return image_; }
  KnownTraffic& known_traffic() { return known_traffic_; }

 private:
  void open();
  void close() noexcept;

  int file_ = -1;
  void* handle_ = nullptr;
  const twin::Image* image_ = nullptr;
  KnownTraffic known_traffic_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_IMAGES_H_
