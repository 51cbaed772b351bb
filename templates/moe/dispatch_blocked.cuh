// Tokens to the rows of their routes, and then blocked scales. All blocks of the grid are co-resident.
#ifndef QUERN_MOE_DISPATCH_BLOCKED_CUH_
#define QUERN_MOE_DISPATCH_BLOCKED_CUH_

#include "common/sync.cuh"
#include "moe/atoms.cuh"
#include "moe/dispatch_token.cuh"

// Of the largest size, on a multiprocessor: a bound of the kernel.
#define QUERN_MOE_RESIDENT_BLOCKS quern::spec::resident_blocks

namespace quern::moe {

QUERN_DEVICE void set_sources(const Params& p, u64 token) {
  for_routes(p, token, [&](u64 route, u32 row) {
    if (!has_row(p, row)) return;
    const bool zero = kProbs && is_zero(load<kProb, LoadHint::keep>(prob_at(p.probs, place_of_prob(p, token, route))));
    set_source(p, row, zero ? kZeros : static_cast<u32>(token) + 1);
  });
}

QUERN_DEVICE void dispatch_tokens(const Params& p) {
  const u64 step = static_cast<u64>(gridDim.x) * (blockDim.x / kLanes);
#pragma unroll 1
  for (u64 number = group_from(0); number < p.all_parts; number += step) {
    const Part part = part_at(p, number);
    dispatch_token_part(p, part);
    if (part.of_row == 0) set_sources(p, part.row);
  }
}

// Of padding rows, a thread for each.
QUERN_DEVICE void set_pad_sources(const Params& p) {
  const u32 step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.tiles * kAtomRows; i += step) {
    const u32 row = load<4>(p.pads + i).w[0];
    if (!has_row(p, row)) return;
    set_source(p, row, kZeros);
  }
}

// Padding rows, of which nothing is read, are cleared while blocks wait for each other.
QUERN_DEVICE void move_rows(const Params& p) {
  dispatch_tokens(p);
  set_pad_sources(p);
  const u32 before = grid_arrive(p.barrier);
  clear_pads(p);
  grid_wait(p.barrier, before);
  write_tiles(p);
  __syncthreads();
  clear_sources(p);
  clear_barrier(p);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_DISPATCH_BLOCKED_CUH_
