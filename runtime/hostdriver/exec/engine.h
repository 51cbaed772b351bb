// Runs the blocks of one launch: blocks on a worker pool, CUDA threads as fibers.
#ifndef QUERN_HOSTDRIVER_EXEC_ENGINE_H_
#define QUERN_HOSTDRIVER_EXEC_ENGINE_H_

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/twin_abi.cuh"
#include "hostdriver/exec/access_log.h"
#include "hostdriver/exec/memory.h"
#include "hostdriver/exec/settings.h"

namespace quern::host {

// One launch with all its arguments. `parameter` is a copy.
struct Grid {
  const twin::Image* image = nullptr;
  twin::Dim3 grid{1, 1, 1};
  twin::Dim3 block{1, 1, 1};
  twin::Dim3 cluster{1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  bool cooperative = false;  // all blocks are co-resident
  std::vector<unsigned char> parameter;
};

inline std::uint64_t volume(const twin::Dim3& extent) { return std::uint64_t{extent.x} * extent.y * extent.z; }

// The result of a kernel. `words` say what went wrong, with the source line and the thread.
struct Outcome {
  CUresult result = CUDA_SUCCESS;
  std::string words{};
  std::string raw{};    // the first access through a raw pointer; "" if there was none
  std::int64_t ns = 0;  // time on the scripted clock
};

// Observers of accesses to global memory; either may be null.
struct Listeners {
  AccessLog* log = nullptr;
  Footprint* footprint = nullptr;
  bool any() const { return log != nullptr || footprint != nullptr; }
};

// Returns when all blocks have ended, or one has failed. Called on a stream's thread; several grids may run
// concurrently.
Outcome run_grid(const Grid& grid, const Settings& settings, Memory& memory, const Listeners& listeners);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_ENGINE_H_
