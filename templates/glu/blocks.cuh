// Quantized results with a scale for each block of a line, or one that is given. The numbers of a block are in adjacent
// lanes, or of 32 elements' numbers in one lane each.
#include "glu/quantize.cuh"
#include "glu/slots.cuh"

namespace quern::glu {

using KernelParams = Params;

constexpr int kBlock = spec::block_length;  // 0: the scale is given
constexpr bool kGiven = kBlock == 0;
constexpr int kElementsOfBlock = kGiven ? 1 : kBlock / kNumbersOfElement;
constexpr int kRun = spec::vectors ? kElements : kElementsOfBlock < 32 ? 1 : kElementsOfBlock / 32;  // of a lane
constexpr int kLanes = kGiven ? 1 : spec::vectors ? kElementsOfBlock / kElements : kElementsOfBlock / kRun;
static_assert(kGiven || (kLanes >= 1 && kLanes <= 32 && kElements % kRun == 0), "whole blocks in a warp");

// A slot's place, and where its scales are: the rows and columns of blocked ones have padding, whose scales are 0.
struct BlockPlace {
  Span at;
  bool writes;  // scales
};

// The block that a number is of. Beyond the numbers of a line are the blocks of the padding.
QUERN_DEVICE int block_of(const Params& p, int column, int number) {
  return (column < p.width ? number : p.line + (column - p.width) * kNumbersOfElement) / kBlock;
}

QUERN_DEVICE void put_scale(const Params& p, const BlockPlace& place, int block, u32 scale) {
  const int blocks = (p.line + kBlock - 1) / kBlock;
  const bool is_there = block < (spec::blocked ? (blocks + 3) / 4 * 4 : blocks);
  if (!place.writes || !is_there || threadIdx.x % kLanes != 0) return;
  write_scale(p, spec::blocked ? mx::blocked_offset(place.at.row, block, blocks) : place.at.row * blocks + block,
              scale);
}

// Of the block with the lane's `kRun` elements from `first` on. `number`: of the first one; `y`: the other numbers of
// pairs. All lanes of a warp call it.
QUERN_DEVICE float reciprocal_of(const Params& p, const BlockPlace& place, int first, int number, const Rounded& x,
                                 const Rounded* y) {
  u32 m = magnitude_of<kRun>(place.at, x, first);
  if (y != nullptr) m = larger(m, magnitude_of<kRun>(place.at, *y, first));
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) m = larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  const u32 scale = Scaling::stored(m);
  put_scale(p, place, block_of(p, place.at.column + first * kStep, number), scale);
  return Scaling::reciprocal(scale);
}

QUERN_DEVICE void quantize_out(const Params& p, const BlockPlace& place, Numbers& out) {
  const Rounded x = rounded(place.at, out);
  x.values(out);
  const float given = kGiven ? given_reciprocal(p) : 0.0f;
#pragma unroll
  for (int i = 0; i < kElements; i += kRun) {
    const float factor = kGiven ? given : reciprocal_of(p, place, i, place.at.column + i * kStep, x, nullptr);
    multiply<kRun>(out, i, factor);
  }
  write<Element>(row_of<Element>(p.out, p.out_stride, place.at), place.at, out);
}

// The numbers of a and g are in blocks of their own, but for pairs.
QUERN_DEVICE void quantize_gradients(const Params& p, const BlockPlace& place, Gradients& made) {
  const Rounded a = rounded(place.at, made.a), g = rounded(place.at, made.g);
  a.values(made.a);
  g.values(made.g);
  const float given = kGiven ? given_reciprocal(p) : 0.0f;
#pragma unroll
  for (int i = 0; i < kElements; i += kRun) {
    const Columns columns = columns_at<kLayout>(p, place.at.column + i * kStep);
    float of_a = 0, of_g = 0;
    if constexpr (kGiven) {
      of_a = of_g = given;
    } else if constexpr (kPairs) {
      of_a = of_g = reciprocal_of(p, place, i, columns.a, a, &g);
    } else {
      of_a = reciprocal_of(p, place, i, columns.a, a, nullptr);
      const bool padding = place.at.column + i * kStep >= p.width;  // of which one is enough
      of_g = reciprocal_of(p, {place.at, place.writes && !padding}, i, columns.g, g, nullptr);
    }
    multiply<kRun>(made.a, i, of_a);
    multiply<kRun>(made.g, i, of_g);
  }
  write_gradients<Element>(p, place.at, made);
}

QUERN_DEVICE void run(const KernelParams& p) {
  run_slots(p, [&](const Span& at, const Operands& o, const BiasBits& bias) {
    const bool padding = is_padding(p, at) && at.row < mx::round_up(static_cast<u64>(p.rows), 128);
    const BlockPlace place = {at, at.end != 0 || padding};
    if constexpr (spec::backward) {
      Gradients made;
      make_gradients(p, o, bias, made);
      quantize_gradients(p, place, made);
    } else {
      Numbers out;
      make_out(p, o, bias, out);
      quantize_out(p, place, out);
    }
  });
}

}  // namespace quern::glu
