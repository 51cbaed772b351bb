// The stream form, for blocks along rows: a lane reads one vector of a block, neighbours in a warp share its scale.
#ifndef QUERN_MXFP8_STREAM_CUH_
#define QUERN_MXFP8_STREAM_CUH_

#include "mxfp8/blocks.cuh"
#include "mxfp8/groups.cuh"
#include "mxfp8/prologue.cuh"

namespace quern::mxfp8 {

using KernelParams = StreamParams;

constexpr int kElements = spec::vector / sizeof(Source);
constexpr int kLanes = kBlock / kElements;  // of a block

QUERN_DEVICE i64 column_of(const Slot& slot) { return static_cast<i64>(slot.column) * kElements; }

QUERN_DEVICE bool is_there(const KernelParams& p, const Slot& slot) { return slot.inside && column_of(slot) < p.cols; }

// Zeros where the last block of a row is cut.
QUERN_DEVICE Word numbers(const KernelParams& p, const Slot& slot, const Inputs& inputs) {
  if (!is_there(p, slot)) return {};
  return numbers_of(p, inputs, column_of(slot));
}

// The largest magnitude of a block, in each of its lanes.
QUERN_DEVICE u32 block_magnitude(const Word& vector) {
  u32 m = 0;
#pragma unroll
  for (int i = 0; i < Word::kWords; ++i) m = Magnitude::larger(m, magnitudes_of(vector.w[i]));
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) m = Magnitude::larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  return Magnitude::fold(m);
}

QUERN_DEVICE void write(const KernelParams& p, const Slot& slot, const Word& vector) {
  const u32 scale = scale_byte(block_magnitude(vector));
  if (!slot.inside) return;
  if (column_of(slot) < p.cols) {
    store<kElements, kStore>(static_cast<u8*>(p.row_out) + slot.row * p.cols + column_of(slot),
                             quantize<kElements>(vector, scale_reciprocal(scale)));
  }
  if (threadIdx.x % kLanes == 0)
    store<1>(static_cast<u8*>(p.row_scales) + slot.row * p.row_blocks + slot.column / kLanes,
             Vector<1>{{static_cast<u8>(scale)}});
}

QUERN_DEVICE void run_tile(const KernelParams& p, const Tile<spec::unroll>& tile) {
  Inputs inputs[spec::unroll] = {};
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if (is_there(p, tile[i])) inputs[i] = Made::read(p, static_cast<i64>(tile[i].row), column_of(tile[i]));
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) write(p, tile[i], numbers(p, tile[i], inputs[i]));
}

// The rows that are in a group; none if one of them is wrong.
QUERN_DEVICE i64 rows_in_groups(const KernelParams& p) {
  i64 end = 0;
  const bool right = for_groups(p, [&](const Group& group) { end = last_lane(group.start + group.rows); });
  return right ? end : 0;
}

QUERN_DEVICE void run(const KernelParams& p) {
  Slots slots = p.slots;
  if constexpr (spec::groups) slots.count = static_cast<u64>(rows_in_groups(p)) * slots.per_row;
  for_tiles<spec::unroll, spec::persistent>(slots, [&](const Tile<spec::unroll>& tile) { run_tile(p, tile); });
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_STREAM_CUH_
