// Runs the blocks of one launch: blocks over a pool of workers, CUDA threads as fibers.
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

// One launch, with everything that it was given. `parameter` is a copy.
struct Grid {
  const twin::Image* image = nullptr;
  twin::Dim3 grid{1, 1, 1};
  twin::Dim3 block{1, 1, 1};
  twin::Dim3 cluster{1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  bool cooperative = false;  // all blocks are there at once
  std::vector<unsigned char> parameter;
};

inline std::uint64_t volume(const twin::Dim3& extent) { return std::uint64_t{extent.x} * extent.y * extent.z; }

// How a kernel ended. `words` say what went wrong, where and in which thread.
struct Outcome {
  CUresult result = CUDA_SUCCESS;
  std::string words{};
  std::string raw{};    // what was reached by a raw pointer first; "" if nothing was
  std::int64_t ns = 0;  // that it took by the scripted clock
};

// Who is told of the accesses to global memory; either may be null.
struct Listeners {
  AccessLog* log = nullptr;
  Footprint* footprint = nullptr;
  bool any() const { return log != nullptr || footprint != nullptr; }
};

// Returns when all blocks have ended, or one has failed. Called by the thread of a stream; several grids may run at
// once.
Outcome run_grid(const Grid& grid, const Settings& settings, Memory& memory, const Listeners& listeners);

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_EXEC_ENGINE_H_
