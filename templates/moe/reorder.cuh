// Each row is moved to one other row, as its chunk says, or back.
#ifndef QUERN_MOE_REORDER_CUH_
#define QUERN_MOE_REORDER_CUH_

#include "moe/chunks.cuh"
#include "moe/probs.cuh"
#include "moe/scales.cuh"

namespace quern::moe {

QUERN_DEVICE void move_part(const Params& p, const Part& part, u32 from, u32 to) {
  Vector<kVector> values[kUnroll] = {};
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors) values[i] = load<kVector, kLoad>(vector_at(p, p.source, from, column));
  }
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors) store<kVector, kStore>(vector_at(p, p.out, to, column), values[i]);
  }
}

QUERN_DEVICE void move_beside(const Params& p, u32 from, u32 to) {
  if constexpr (spec::prob_bytes != 0) {
    if (lane() == 0) store<kProb>(prob_at(p.out_probs, to), load<kProb, LoadHint::keep>(prob_at(p.probs, from)));
  }
  if constexpr (kScales) {
#pragma unroll 1
    for (u32 column = lane(); column < p.scale_vectors; column += kLanes)
      store_scales(p, to, column, load_scales(p, from, column));
  }
}

QUERN_DEVICE void move_rows(const Params& p) {
  make_table(p);
  const u64 step = static_cast<u64>(gridDim.x) * (blockDim.x / kLanes);
#pragma unroll 1
  for (u64 number = group_from(0); number < p.all_parts; number += step) {
    const Part part = part_at(p, number);
    const u32 row = static_cast<u32>(part.row), moved = moved_row(p, row);
    if (moved >= p.tokens) continue;  // the sizes are wrong
    const u32 from = spec::backward ? moved : row, to = spec::backward ? row : moved;
    move_part(p, part, from, to);
    if (part.of_row == 0) move_beside(p, from, to);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_REORDER_CUH_
