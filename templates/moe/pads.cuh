// Padding rows: zeros, written by the first blocks of the grid. The spec includes one of keep.cuh, quantize.cuh
// and quantize_row.cuh before it.
#ifndef QUERN_MOE_PADS_CUH_
#define QUERN_MOE_PADS_CUH_

#include "moe/probs.cuh"
#include "moe/scales.cuh"

namespace quern::moe {

// What moves with the rows.
QUERN_DEVICE void clear_beside(const Params& p, u32 row) {
  if constexpr (spec::prob_bytes != 0 && !spec::weighted) {
    if (lane() == 0) store<kProb>(prob_at(p.out_probs, row), ProbBits{});
  }
  if constexpr (kScales) clear_scales(p, row);
  clear_made_scales(p, row);
}

// Only the device knows how many padding rows there are: `pads` ends with the first -1, or other row that there is not.
// A map of the problem's fields has the end among the first entries. That of another one may be longer: one block
// looks, so that the groups of the others, once they have cleared their row, need not wait for an entry that is -1.
QUERN_DEVICE void clear_pads(const Params& p) {
  const bool beyond = blockIdx.x >= p.list_blocks;
  const u64 groups = blockDim.x / kLanes, step = beyond ? groups : p.list_blocks * groups;
  const u64 end = beyond ? p.pad_parts : p.listed_parts;
#pragma unroll 1
  for (u64 number = beyond ? p.listed_parts + threadIdx.x / kLanes : group_from(0); number < end; number += step) {
    const Part part = part_at(p, number);
    const u32 row = load<4>(p.pads + part.row).w[0];
    if (!has_row(p, row)) return;
    if constexpr (kRagged) {
      const Vector<16> zeros[kUnroll] = {};
      put_columns(p, row, part.column, zeros);
    }
#pragma unroll
    for (u32 i = 0; i < kUnroll && !kRagged; ++i) {
      const u32 column = part.column_of(i);
      if (column < p.vectors) store<kOutVector, kStore>(made_at(p, row, column, kOutVector), Vector<kOutVector>{});
    }
    if (part.of_row == 0) clear_beside(p, row);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_PADS_CUH_
