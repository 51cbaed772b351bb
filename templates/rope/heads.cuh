// A thread has one unit of `unroll` heads of a token at a time, `rounds` times; it reads or computes its angles once.
// Adjacent threads have adjacent units, then the next head.
#ifndef QUERN_ROPE_HEADS_CUH_
#define QUERN_ROPE_HEADS_CUH_

#include "common/slots.cuh"
#include "rope/head.cuh"

namespace quern::rope {

QUERN_DEVICE void transform_heads(const Params& p, Heads& read, bool rotates, const Angles& angles) {
  QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) {
    const Head& head = read.heads[i];
    const float factor = head.exists ? factor_of(p, head.tensor) : 1.0f;
    const bool turned = rotates && (!spec::has_values || head.tensor != kTensorV);
    read.values[i] = transform(read.values[i], turned, angles, head.tensor, factor);
  }
}

QUERN_DEVICE void write_heads(const Heads& done, const Unit& unit) {
  QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) {
    const Head& head = done.heads[i];
    if (!moves(head, unit)) continue;
    write(write_at(head, unit.low), done.values[i].low, head.tensor);
    if (unit.has_high) write(write_at(head, unit.high), done.values[i].high, head.tensor);
  }
}

QUERN_DEVICE Slot slot_of(const Params& p, u32 block) {
  if constexpr (spec::offsets == 32) {
    const u32 number = block * blockDim.x + threadIdx.x, row = number / kUnits;
    return {number, row, number - row * kUnits, number < static_cast<u32>(p.slots)};
  }
  // A block begins inside its first row: the rest is 32 bits wide.
  const u64 first = static_cast<u64>(block) * blockDim.x, row = first / kUnits;
  const u32 column = static_cast<u32>(first % kUnits) + threadIdx.x, rows = column / kUnits;
  return {first + threadIdx.x, row + rows, column - rows * kUnits, p.slots > first && p.slots - first > threadIdx.x};
}

QUERN_DEVICE Heads read_round(const Params& p, const Slot& slot, u32 round) {
  const Row row = row_at(p.axes, slot.row);
  const Place here = {row.batch(), row.token(), true};
  return read_heads(p, here, unit_of(slot.column), row.group() + round * spec::unroll * p.groups);
}

// Where there is a table, a thread has one round in most configs, and with a cache it has the fewest registers left:
// for another round it finds its slot again, which leaves up to 10 registers to the first.
constexpr bool kFindsSlotAgain = kHasCache || (spec::has_table && !spec::has_angles);

// A thread issues all its loads before it uses the first, and the loop keeps it so: in straight-line code ptxas sinks a
// load below the arithmetic on earlier ones, to save registers (on an H200 interleaved pairs of 4 x 8192 x 32 x 128
// took 142 us, and take 132), and loads of the read-only path below stores too.
QUERN_DEVICE void rotate_heads(const Params& p, const Slot& slot) {
  const Row row = row_at(p.axes, slot.row);
  const Unit unit = unit_of(slot.column);
  const Place here = {row.batch(), row.token(), true};
  Heads heads = read_round(p, slot, 0);
  const Position position = position_of(p, row.batch(), row.token());
  const bool rotates = unit.rotates && position.rotates;
  const Angles angles = rotates ? angles_at(p, position, unit) : Angles{};
  const Place in_cache = kHasCache ? place_in_cache(p, position, here) : here;
#pragma unroll 1
  for (u32 round = 1;; ++round) {
    if constexpr (kHasCache) {
      QUERN_UNROLL for (int i = 0; i < spec::unroll; ++i) place_head(p, heads.heads[i], in_cache);
    }
    if (spec::quantizes || rotates) transform_heads(p, heads, rotates, angles);
    if (position.exists) write_heads(heads, unit);
    if (round >= p.rounds) return;
    heads = read_round(p, kFindsSlotAgain ? slot_of(p, opaque(blockIdx.x)) : slot, round);
  }
}

using KernelParams = Params;
QUERN_DEVICE void rotate(const Params& p) {
  if (const Slot slot = slot_of(p, blockIdx.x); slot.inside) rotate_heads(p, slot);
}

}  // namespace quern::rope

#endif  // QUERN_ROPE_HEADS_CUH_
