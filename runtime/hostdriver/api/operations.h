// What streams do with memory and kernels.
#ifndef QUERN_HOSTDRIVER_API_OPERATIONS_H_
#define QUERN_HOSTDRIVER_API_OPERATIONS_H_

#include "hostdriver/api/driver_state.h"

namespace quern::host {

// All of these refuse a range outside of an allocation: now, and again when they run, since a graph may outlive the
// memory that it was captured with. What is never written may be copied, and stays never written.
Operation copy_to_device(CUdeviceptr to, const void* from, std::size_t bytes);
// Reads the host's bytes now, so that the caller may change them right away.
Operation copy_staged(CUdeviceptr to, const void* from, std::size_t bytes);
Operation copy_to_host(void* to, CUdeviceptr from, std::size_t bytes);
Operation copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
Operation set_bytes(CUdeviceptr to, unsigned char value, std::size_t bytes);

// One launch; `memory` is that of the device.
Operation kernel(const std::shared_ptr<Library>& library, Grid grid, Memory& memory);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_OPERATIONS_H_
