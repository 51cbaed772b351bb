// Groups of adjacent threads, each with a part of a row: kUnroll accesses for each thread.
#ifndef QUERN_SCATTER_LANES_CUH_
#define QUERN_SCATTER_LANES_CUH_

#include "scatter/index.cuh"

namespace quern::scatter {

constexpr int kVector = spec::vector;  // bytes
constexpr u32 kUnroll = spec::unroll;
constexpr u32 kLanes = spec::lanes, kGroups = 32 / kLanes;

QUERN_DEVICE u32 lane() { return threadIdx.x % 32; }
QUERN_DEVICE u32 group_of_warp() { return lane() / kLanes; }
QUERN_DEVICE u32 mask_of_group() { return kLanes == 32 ? ~0u : ((1u << kLanes) - 1) << group_of_warp() * kLanes; }

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_LANES_CUH_
