// Each row is moved to one other row, as its chunk says, or back. Before it: make_table of few_chunks.cuh or of
// many_chunks.cuh.
#ifndef QUERN_MOE_REORDER_CUH_
#define QUERN_MOE_REORDER_CUH_

#include "moe/chunks.cuh"
#include "moe/probs.cuh"
#include "moe/scales.cuh"

namespace quern::moe {

// The parts of a group of lanes. A block has consecutive parts and its groups take them in turn, so that blocks, which
// start in the order of their numbers, write consecutive memory. A grid-stride loop writes 6 % less a second.
struct PartRange {
  u64 first;
  u64 end;
  u32 step;
};

QUERN_DEVICE PartRange parts_of_group(const Params& p) {
  const u32 groups = blockDim.x / kLanes;
  const u64 of_block = static_cast<u64>(groups) * p.group_parts, first = blockIdx.x * of_block;
  const u64 end = first + of_block;
  return {first + threadIdx.x / kLanes, end < p.all_parts ? end : p.all_parts, groups};
}

// What a thread holds in registers of a part, and the probability of the part's row.
struct LoadedPart {
  Part part;
  u32 moved;  // backward: where the row comes from
  Vector<kVector> values[kUnroll];
  Vector<kScaleVector> scales;  // the first of this thread
  ProbBits prob;
};

// Whether this thread moves the number of the part's row.
QUERN_DEVICE bool has_prob(const Part& part) { return spec::prob_bytes != 0 && part.of_row == 0 && lane() == 0; }

// The scales that move with a part: as many as with each other part of its row.
struct PartScales {
  u32 column;  // of this thread's first; the others are kLanes apart
  u32 end;
};

QUERN_DEVICE PartScales scales_of(const Params& p, const Part& part) {
  const u32 first = part.of_row * p.part_scales, end = first + p.part_scales;
  return {first + lane(), end < p.scale_vectors ? end : p.scale_vectors};
}

// Sizes may be wrong: rows outside of the matrix are neither read nor written.
QUERN_DEVICE LoadedPart load_part(const Params& p, u64 number, u64 end) {
  LoadedPart loaded = {};
  if (number >= end) return loaded;
  loaded.part = part_at(p, number);
  u32 from = loaded.part.row;
  if constexpr (spec::backward) {
    from = loaded.moved = moved_row(p, from);
    if (from >= p.tokens) return loaded;
  }
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = loaded.part.column_of(i);
    if (column < p.vectors) loaded.values[i] = load<kVector, kLoad>(vector_at(p, p.source, from, column));
  }
  if constexpr (kScales) {
    const PartScales mine = scales_of(p, loaded.part);
    if (mine.column < mine.end) loaded.scales = load_scales(p, from, mine.column);
  }
  if (has_prob(loaded.part)) loaded.prob = load<kProb, LoadHint::keep>(prob_at(p.probs, from));
  return loaded;
}

QUERN_DEVICE void store_part_scales(const Params& p, const LoadedPart& loaded, u32 from, u32 to) {
  const PartScales mine = scales_of(p, loaded.part);
  if (mine.column < mine.end) store_scales(p, to, mine.column, loaded.scales);
#pragma unroll 1
  for (u32 column = mine.column + kLanes; column < mine.end; column += kLanes)
    store_scales(p, to, column, load_scales(p, from, column));
}

QUERN_DEVICE void store_part(const Params& p, const LoadedPart& loaded) {
  const Part& part = loaded.part;
  const u32 row = part.row, moved = spec::backward ? loaded.moved : moved_row(p, row);
  if (moved >= p.tokens) return;  // the sizes are wrong
  const u32 from = spec::backward ? moved : row, to = spec::backward ? row : moved;
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const u32 column = part.column_of(i);
    if (column < p.vectors) store<kVector, kStore>(vector_at(p, p.out, to, column), loaded.values[i]);
  }
  if (has_prob(part)) store<kProb>(prob_at(p.out_probs, to), loaded.prob);
  if constexpr (kScales) store_part_scales(p, loaded, from, to);
}

// The next part is loaded before a part is stored. Forward, where a row comes from does not depend on the table: the
// first part is on its way while the table is made.
QUERN_DEVICE void move_rows(const Params& p) {
  const PartRange mine = parts_of_group(p);
  LoadedPart next;
  if constexpr (!spec::backward) next = load_part(p, mine.first, mine.end);
  make_table(p);
  if constexpr (spec::backward) next = load_part(p, mine.first, mine.end);
#pragma unroll 1
  for (u64 number = mine.first; number < mine.end; number += mine.step) {
    const LoadedPart loaded = next;
    next = load_part(p, number + mine.step, mine.end);
    store_part(p, loaded);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_REORDER_CUH_
