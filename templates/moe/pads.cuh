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
QUERN_DEVICE void clear_pads(const Params& p) {
  const u64 step = static_cast<u64>(p.pad_blocks) * (blockDim.x / kLanes);
#pragma unroll 1
  for (u64 number = group_from(0); number < p.pad_parts; number += step) {
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
