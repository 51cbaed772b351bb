// Occupancy: blocks per multiprocessor, and the limits of a launch.
#ifndef QUERN_HOSTDRIVER_API_OCCUPANCY_H_
#define QUERN_HOSTDRIVER_API_OCCUPANCY_H_

#include <cstddef>

#include "hostdriver/api/objects.h"

namespace quern::host {

constexpr int kMaxBlocksPerMultiprocessor = 32;
constexpr unsigned kMaxClusterBlocks = 8;

// Shared memory per block reserved by the system.
int reserved_shared_bytes(const DeviceSettings& device);
int max_threads(const Function& function, const DeviceSettings& device);
int blocks_per_multiprocessor(const Function& function, const DeviceSettings& device, int threads,
                              std::size_t dynamic_shared_bytes);

// Checks a launch against kernel and device. Throws Refusal.
Grid make_grid(const CUlaunchConfig& config, const Function& function, const DeviceSettings& device);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_OCCUPANCY_H_
