// Groups of adjacent threads, each with a part of a row: kUnroll accesses for each thread.
#ifndef QUERN_SCATTER_LANES_CUH_
#define QUERN_SCATTER_LANES_CUH_

#include "rows/lanes.cuh"
#include "scatter/index.cuh"

namespace quern::scatter {

constexpr int kVector = spec::vector;  // bytes
constexpr u32 kUnroll = spec::unroll;

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_LANES_CUH_
