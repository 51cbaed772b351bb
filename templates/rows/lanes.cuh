// Groups of adjacent threads of a warp, spec::lanes each.
#ifndef QUERN_ROWS_LANES_CUH_
#define QUERN_ROWS_LANES_CUH_

#include "common/device.cuh"
#include "spec.cuh"

namespace quern::rows {

using namespace common;

constexpr u32 kLanes = spec::lanes, kGroups = 32 / kLanes;

QUERN_DEVICE u32 lane() { return threadIdx.x % 32; }
QUERN_DEVICE u32 group_of_warp() { return lane() / kLanes; }
QUERN_DEVICE u32 mask_of_group() { return kLanes == 32 ? ~0u : ((1u << kLanes) - 1) << group_of_warp() * kLanes; }

}  // namespace quern::rows

#endif  // QUERN_ROWS_LANES_CUH_
