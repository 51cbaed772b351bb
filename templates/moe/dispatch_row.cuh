// Tokens to the rows of their routes, quantized with a scale for each row. A team has a row: lanes of a warp, or all
// warps of a block. It keeps what fits its registers and, when the scale is known, reads the rest again.
#ifndef QUERN_MOE_DISPATCH_ROW_CUH_
#define QUERN_MOE_DISPATCH_ROW_CUH_

#include "common/shared.cuh"
#include "moe/store_rows.cuh"

namespace quern::moe {

constexpr u32 kWarps = spec::warps;
constexpr u32 kTeam = kLanes * kWarps;  // threads
static_assert(kWarps == 1 || kLanes == 32, "the warps of a row are whole");

// What a team has of a row at once.
struct TeamPart {
  u32 row;
  u32 column;  // of this thread's first vector; the others are kTeam apart

  QUERN_DEVICE u32 column_of(u32 i) const { return column + i * kTeam; }
  QUERN_DEVICE TeamPart next() const { return {row, column + kUnroll * kTeam}; }
};

using Values = Vector<kVector>[kUnroll];

// Zeros beyond the end of the row.
QUERN_DEVICE void load_part(const Params& p, const TeamPart& part, Values& values) {
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    values[i] = {};
    const u32 column = part.column_of(i);
    if (column < p.vectors) values[i] = load<kVector, kLoad>(vector_at(p, p.source, part.row, column));
  }
}

// A block has one team of several warps, which waits here once.
QUERN_DEVICE u32 largest_of_team(u32 m) {
  const u32 own = largest_of_lanes<kLanes>(m);
  if constexpr (kWarps == 1) return own;
  if (lane() == 0) store_shared<4>(dynamic_shared() + threadIdx.x / 32 * 4, {{own}});
  __syncthreads();
  u32 largest = 0;
#pragma unroll
  for (u32 warp = 0; warp < kWarps; ++warp) {
    const u32 other = load_shared<4>(dynamic_shared() + warp * 4).w[0];
    largest = largest > other ? largest : other;
  }
  return largest;
}

QUERN_DEVICE void dispatch_row(const Params& p, const TeamPart& first) {
  Values kept, others;
  const float factor = token_factor(p, first.row);
  load_part(p, first, kept);
  multiply(factor, kept);
  u32 m = largest_of<kUnroll>(0, kept);
#pragma unroll 1
  for (TeamPart part = first.next(); part.column < p.vectors; part = part.next()) {
    load_part(p, part, others);
    multiply(factor, others);
    m = largest_of<kUnroll>(m, others);
  }
  const u32 scale = Scaling::stored(largest_of_team(m));
  const ScaledPart made = make(kept, scale);
  for_rows(p, first.row, [&](u32 row, bool zero, float) { store_part(p, first, row, zero, made); });
#pragma unroll 1
  for (TeamPart part = first.next(); part.column < p.vectors; part = part.next()) {
    load_part(p, part, others);
    multiply(factor, others);
    const ScaledPart other = make(others, scale);
    for_rows(p, part.row, [&](u32 row, bool zero, float) { store_part(p, part, row, zero, other); });
  }
}

QUERN_DEVICE void move_rows(const Params& p) {
  if constexpr (spec::pads) {
    if (blockIdx.x < p.pad_blocks) return clear_pads(p);
  }
  const u32 token = static_cast<u32>(group_from(p.pad_blocks) / kWarps);
  if (token >= p.tokens) return;
  const u32 member = threadIdx.x % kTeam;
  dispatch_row(p, {token, member});
  if constexpr (kProbs) {
    if (member < kLanes) dispatch_probs(p, token);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_DISPATCH_ROW_CUH_
