// Operations of streams: copies, sets and kernels.
#ifndef QUERN_HOSTDRIVER_API_OPERATIONS_H_
#define QUERN_HOSTDRIVER_API_OPERATIONS_H_

#include "hostdriver/api/driver_state.h"

namespace quern::host {

// All of these refuse a range outside of an allocation: when called, and again when they run, because a graph may
// outlive the memory that it was captured with. Uninitialized bytes may be copied, and stay uninitialized.
Operation copy_to_device(CUdeviceptr to, const void* from, std::size_t bytes);
// Reads the host's bytes now, so that the caller may overwrite them at once.
Operation copy_staged(CUdeviceptr to, const void* from, std::size_t bytes);
Operation copy_to_host(void* to, CUdeviceptr from, std::size_t bytes);
Operation copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
Operation set_bytes(CUdeviceptr to, unsigned char value, std::size_t bytes);

// One launch; `memory` is the device's.
Operation kernel(const std::shared_ptr<Library>& library, Grid grid, Memory& memory);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_OPERATIONS_H_
