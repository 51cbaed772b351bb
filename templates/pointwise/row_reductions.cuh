// The reductions along a row, in the same order for every config and every address: of a column all segments of a warp
// in sequence; then the columns of a segment as a tree, those first whose numbers differ in bit 0, then in bit 1, and
// so on; then the warps, as a tree in which neighbours come first.
#ifndef QUERN_POINTWISE_ROW_REDUCTIONS_CUH_
#define QUERN_POINTWISE_ROW_REDUCTIONS_CUH_

#include "common/reduce.cuh"
#include "pointwise/row_inputs.cuh"

namespace quern::pointwise {

constexpr int kRounds = spec::rounds;
constexpr int kReductions = spec::reductions == 0 ? 1 : spec::reductions;
// Whether a row is in registers from the first round to the outputs, or is read again for each.
constexpr bool kHeld = spec::held;

// Whether operands of which each row has the same are in registers, too: where a thread has several rows.
constexpr bool kHoldsRowOperands = kHeld && spec::sums > 0;

using Reduced = float[kReductions];

// Of each element of a held row, what the terms of a round have computed for later ones and for the outputs. Unused,
// and so in no register, unless spec::keeps.
constexpr int kKept = spec::kept == 0 ? 1 : spec::kept;
struct Kept {
  float of[kHeld ? kSegments : 1][kOfLane][kKept];
};

// What a thread has of a row. Not held: its segments are read where they are used.
struct TeamRow {
  RowPlace at;
  RowNumbers<kInputs> one;
  SegmentInputs<kInputs> segments[kHeld ? kSegments : 1];
};

// f(s, segment, inputs) for the thread's segments from the block's s-th to the one before `end`.
template <class F>
QUERN_DEVICE void for_segments(const KernelParams& p, const TeamRow& row, int first, int end, const F& f) {
  if constexpr (kHeld) {
#pragma unroll
    for (int s = 0; s < kSegments; ++s) {
      const int segment = first + s * kWarps + warp_of_row();
      SegmentInputs<kInputs> inputs = row.segments[s];
      if constexpr (!kHoldsRowOperands) inputs.template read<Spread::row>(p, row.at, segment);
      f(s, segment, inputs);
    }
  } else {
#pragma unroll 1
    for (int at = first; at < end; at += kSegments * kWarps) {
#pragma unroll
      for (int s = 0; s < kSegments; ++s) {
        const int segment = at + s * kWarps + warp_of_row();
        SegmentInputs<kInputs> inputs;
        inputs.template read<Spread::full>(p, row.at, segment);
        inputs.template read<Spread::row>(p, row.at, segment);
        f(s, segment, inputs);
      }
    }
  }
}

// ---- One of the reductions, by its number

using generated::is_maximum;
using generated::is_mean;
using generated::round_of;

QUERN_DEVICE float nothing(int reduction) { return is_maximum(reduction) ? Max::nothing() : Sum::nothing(); }
QUERN_DEVICE float combined(int reduction, float a, float b) {
  return is_maximum(reduction) ? Max::combine(a, b) : Sum::combine(a, b);
}

QUERN_DEVICE void combine_pairs(int reduction, float (&x)[kOfLane], int bit) {
#pragma unroll
  for (int i = 0; i < kOfLane; i += 2 * bit) x[i] = combined(reduction, x[i], x[i + bit]);
}
// Of a segment's columns: the adjacent ones of a lane, then those of all lanes, then what is left of a lane.
QUERN_DEVICE float of_segment(int reduction, float (&x)[kOfLane]) {
#pragma unroll
  for (int bit = 1; bit < kElements; bit *= 2) combine_pairs(reduction, x, bit);
#pragma unroll
  for (int i = 0; i < kOfLane; i += kElements) {
#pragma unroll
    for (int lanes = 1; lanes < kLanes; lanes *= 2)
      x[i] = combined(reduction, x[i], __shfl_xor_sync(0xffffffffu, x[i], lanes));
  }
#pragma unroll
  for (int bit = kElements; bit < kOfLane; bit *= 2) combine_pairs(reduction, x, bit);
  return x[0];
}

// Those of each warp; two rounds in turn, so that one barrier a round is enough.
QUERN_SHARED(float, of_warps, 2 * kReductions * kWarps);

template <int Count>
QUERN_DEVICE float of_neighbours(int reduction, const float (&x)[Count]) {
  if constexpr (Count == 1) {
    return x[0];
  } else {
    float pairs[(Count + 1) / 2];
#pragma unroll
    for (int i = 0; i < Count / 2; ++i) pairs[i] = combined(reduction, x[2 * i], x[2 * i + 1]);
    if constexpr (Count % 2 != 0) pairs[Count / 2] = x[Count - 1];
    return of_neighbours(reduction, pairs);
  }
}
QUERN_DEVICE float of_all_warps(int reduction, int first) {
  float x[kWarps];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) x[w] = of_warps.get(first + w);
  return of_neighbours(reduction, x);
}

// ---- A round

// Of each reduction, the terms of a thread: those of the columns of a segment that it has.
using Terms = float[kReductions][kOfLane];

// Of a held row's first segment they are the terms themselves, not combined with nothing.
template <int Round>
QUERN_DEVICE void add_terms(const KernelParams& p, const TeamRow& row, const Reduced& reduced, int s, int segment,
                            const SegmentInputs<kInputs>& inputs, Kept& kept, Terms& terms) {
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const bool has = spec::whole || has_piece(row.at, segment, piece);
    for_elements(inputs, row.one, piece, [&](int i, const float(&in)[kInputs]) {
      const int element = piece * kElements + i;
      Reduced own;
      generated::Terms<Round>::of(p.numbers, in, reduced, kept.of[kHeld ? s : 0][element], own);
#pragma unroll
      for (int r = 0; r < kReductions; ++r) {
        if (round_of(r) != Round) continue;
        const float term = has ? own[r] : nothing(r);
        terms[r][element] = kHeld && s == 0 ? term : combined(r, terms[r][element], term);
      }
    });
  }
}

template <int Round>
QUERN_DEVICE void exchange_with_warps(u32& turn, Reduced& reduced) {
  const int first = static_cast<int>(turn) * kReductions;
  turn ^= 1;
#pragma unroll
  for (int r = 0; r < kReductions; ++r) {
    if (round_of(r) == Round && lane() == 0) of_warps.set((first + r) * kWarps + warp_of_row(), reduced[r]);
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kReductions; ++r) {
    if (round_of(r) == Round) reduced[r] = of_all_warps(r, (first + r) * kWarps);
  }
}

template <int Round>
QUERN_DEVICE void run_round(const KernelParams& p, const TeamRow& row, u32& turn, Kept& kept, Reduced& reduced) {
  Terms terms;
#pragma unroll
  for (int r = 0; r < kReductions; ++r) {
#pragma unroll
    for (float& term : terms[r]) term = nothing(r);
  }
  for_segments(p, row, 0, p.shape.segments, [&](int s, int segment, const SegmentInputs<kInputs>& inputs) {
    add_terms<Round>(p, row, reduced, s, segment, inputs, kept, terms);
  });
  // Terms that are all -0 have the sum +0.
#pragma unroll
  for (int r = 0; r < kReductions; ++r) {
    if (round_of(r) == Round) reduced[r] = combined(r, nothing(r), of_segment(r, terms[r]));
  }
  if constexpr (kWarps > 1) exchange_with_warps<Round>(turn, reduced);
#pragma unroll
  for (int r = 0; r < kReductions; ++r) {
    if (round_of(r) == Round && is_mean(r)) reduced[r] = reduced[r] / static_cast<float>(p.shape.width);
  }
}

// All rounds, each from the results of those before it.
template <int Round = 0>
QUERN_DEVICE void reduce_row(const KernelParams& p, const TeamRow& row, u32& turn, Kept& kept, Reduced& reduced) {
  if constexpr (Round < kRounds) {
    run_round<Round>(p, row, turn, kept, reduced);
    reduce_row<Round + 1>(p, row, turn, kept, reduced);
  }
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_ROW_REDUCTIONS_CUH_
