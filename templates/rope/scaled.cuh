// The form whose quantized outputs have scales that are made: of a head, or of blocks of it. A thread block has whole
// heads. Each thread rotates its part of them and raises the largest magnitudes of the blocks, in shared memory, to
// those of its part; when they are known, it writes its part.
#ifndef QUERN_ROPE_SCALED_CUH_
#define QUERN_ROPE_SCALED_CUH_

#include "common/scaling.cuh"
#include "common/shared.cuh"
#include "rope/head.cuh"

namespace quern::rope {

using KernelParams = ScaledParams;
using Scaling = ScalingOf<spec::scale_format, Quantized, spec::mode, spec::policy>::Type;
using Scale = Vector<Scaling::kBytes>;  // as it is stored

constexpr u32 kBlockLength = spec::block_length;
constexpr u32 kHeadElements = spec::rotary_dim + spec::copies;
constexpr u32 kBlocks = (kHeadElements + kBlockLength - 1) / kBlockLength;  // of a head
static_assert(kBlocks == 1 || kBlockLength % kElements == 0, "an access lies in one block");

// A team is the threads of one row, `unroll` heads of a token: each has the same unit of all these heads.
struct TeamPlace {
  Row row;
  u32 team;  // the row's number in the thread block
  bool is_inside;
};

QUERN_DEVICE TeamPlace place_of(const ScaledParams& p) {
  const u32 teams = blockDim.x / kUnits, team = threadIdx.x / kUnits;
  const u64 number = static_cast<u64>(blockIdx.x) * teams + team;
  const bool is_inside = team < teams && number < p.rows;
  return {row_at(p.all.axes, is_inside ? number : 0), team, is_inside};
}

// Of a block of one of the team's heads: the largest magnitude, as bits.
QUERN_DEVICE u32* maximum_of(u32 team, int head, u32 element) {
  return reinterpret_cast<u32*>(dynamic_shared()) + (team * spec::unroll + head) * kBlocks + element / kBlockLength;
}

QUERN_DEVICE void clear_maxima() {
  const u32 count = blockDim.x / kUnits * spec::unroll * kBlocks;
  for (u32 i = threadIdx.x; i < count; i += blockDim.x) store_shared<4>(dynamic_shared() + i * 4, Vector<4>{});
}

struct Rotated {
  float low[kElements];
  float high[kElements];
};

QUERN_DEVICE void raise(u32* maximum, const float (&elements)[kElements]) {
  u32 m = 0;
  QUERN_UNROLL for (int i = 0; i < kElements; ++i) {
    const u32 own = magnitudes<float, spec::policy>(bit_cast<u32>(elements[i]));
    m = Magnitudes<float>::larger(m, own);
  }
  atomicMax(maximum, m);
}

QUERN_DEVICE Rotated rotated(const Values& values, bool rotates, const Angles& angles) {
  Rotated made;
  unpack<Element, kElements>(values.low, made.low);
  unpack<Element, kElements>(values.high, made.high);
  if (rotates) rotate_pairs(made.low, made.high, angles);
  return made;
}

// Writes elements by their block's scale; the thread with the block's first ones writes the scale.
QUERN_DEVICE void write_scaled(const Head& head, u8* scales, u32* maximum, u32 element, float (&elements)[kElements]) {
  const u32 scale = Scaling::stored(load_shared<4>(maximum).w[0]);
  write(write_at(head, element), encode(elements, head.tensor, Scaling::reciprocal(scale)), head.tensor);
  if (element % kBlockLength == 0)
    store<Scaling::kBytes>(scales + element / kBlockLength * Scaling::kBytes,
                           Scale{{static_cast<typename Scale::Word>(scale)}});
}

// Where a head's scales begin.
QUERN_DEVICE u8* scales_of(const ScaledParams& p, const Head& head, const Place& place) {
  const MadeScales& made = head.tensor == kTensorQ   ? p.scales[kTensorQ]
                           : head.tensor == kTensorV ? p.scales[kTensorV]
                                                     : p.scales[kTensorK];
  return reinterpret_cast<u8*>(
      address(made.to, place, offset(head.number, made.strides[spec::head_axis]), made.strides));
}

// What a thread has of its heads. Of those that are not quantized, `values` is what is written.
struct Parts {
  Heads heads;
  Rotated made[spec::unroll];
};

QUERN_DEVICE void rotate_parts(Parts& parts, const Unit& unit, bool rotates, const Angles& angles, u32 team) {
  QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) {
    const Head& head = parts.heads.heads[i];
    const bool turns = rotates && (!spec::has_values || head.tensor != kTensorV);
    Values& values = parts.heads.values[i];
    if (!is_quantized(head.tensor)) {
      values = transform(values, turns, angles, head.tensor, 1.0f);
      continue;
    }
    Rotated& made = parts.made[i];
    made = rotated(values, turns, angles);
    if (!moves(head, unit)) continue;
    raise(maximum_of(team, i, unit.low), made.low);
    if (unit.has_high) raise(maximum_of(team, i, unit.high), made.high);
  }
}

QUERN_DEVICE void write_part(const ScaledParams& p, Parts& parts, int i, const Unit& unit, const Place& place,
                             u32 team) {
  const Head& head = parts.heads.heads[i];
  if (!is_quantized(head.tensor)) {
    write(write_at(head, unit.low), parts.heads.values[i].low, head.tensor);
    if (unit.has_high) write(write_at(head, unit.high), parts.heads.values[i].high, head.tensor);
    return;
  }
  u8* const scales = scales_of(p, head, place);
  write_scaled(head, scales, maximum_of(team, i, unit.low), unit.low, parts.made[i].low);
  if (unit.has_high) write_scaled(head, scales, maximum_of(team, i, unit.high), unit.high, parts.made[i].high);
}

QUERN_DEVICE void rotate(const ScaledParams& p) {
  const TeamPlace own = place_of(p);
  const Place here = {own.row.batch(), own.row.token(), true};
  const Unit unit = unit_of(threadIdx.x % kUnits);
  Parts parts;
  parts.heads = read_heads(p.all, here, unit, own.is_inside ? own.row.group() : p.all.all_heads);
  const Position position = position_of(p.all, own.row.batch(), own.row.token());
  const bool rotates = unit.rotates && position.rotates;
  const Angles angles = rotates ? angles_at(p.all, position, unit) : Angles{};
  const Place in_cache = kHasCache ? place_in_cache(p.all, position, here) : here;
  if constexpr (kHasCache) {
    QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) place_head(p.all, parts.heads.heads[i], in_cache);
  }
  clear_maxima();
  __syncthreads();
  rotate_parts(parts, unit, rotates, angles, own.team);
  __syncthreads();
  if (!position.exists) return;
  QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) {
    const Head& head = parts.heads.heads[i];
    Place place = in_cache;  // not by ?: of references, which would put both in local memory
    if (head.tensor == kTensorQ) place = here;
    if (moves(head, unit)) write_part(p, parts, i, unit, place, own.team);
  }
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_SCALED_CUH_
