// The stream form, for blocks along rows: lanes of a warp read a block, one or more vectors each, and share its scale.
#ifndef QUERN_MXFP8_STREAM_CUH_
#define QUERN_MXFP8_STREAM_CUH_

#include "mxfp8/blocks.cuh"
#include "mxfp8/group_ends.cuh"
#include "mxfp8/source.cuh"

namespace quern::mxfp8 {

using namespace common;

using KernelParams = WithPitches<StreamParams, spec::out_strides>;

constexpr int kElements = spec::vector / sizeof(Source);
constexpr int kLanes = kBlock / kElements < 32 ? kBlock / kElements : 32;  // of a block
constexpr int kPieces = kBlock / kElements / kLanes;                       // of a lane, a block's width of lanes apart

// What a lane has of a block.
struct Share {
  Word pieces[kPieces];
};
struct ShareInputs {
  Inputs pieces[kPieces];
};

QUERN_DEVICE i64 column_of(const Slot& slot, int piece) {
  if constexpr (kPieces == 1) return static_cast<i64>(slot.column) * kElements;
  const u32 block = slot.column / kLanes, lane = slot.column % kLanes;
  return static_cast<i64>(block) * kBlock + (piece * kLanes + lane) * kElements;
}

QUERN_DEVICE bool is_there(const KernelParams& p, const Slot& slot, int piece) {
  return slot.inside && column_of(slot, piece) < p.cols;
}

// Zeros beyond the end of a row's last, partial block.
QUERN_DEVICE Share numbers(const KernelParams& p, const Slot& slot, const ShareInputs& inputs) {
  Share share = {};
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (is_there(p, slot, k)) share.pieces[k] = numbers_of(p, inputs.pieces[k], column_of(slot, k));
  }
  return share;
}

// The largest magnitude of a block, in each of its lanes.
QUERN_DEVICE u32 block_magnitude(const Share& share) {
  u32 m = 0;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
#pragma unroll
    for (int i = 0; i < Word::kWords; ++i) m = Magnitude::larger(m, magnitudes_of(share.pieces[k].w[i]));
  }
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) m = Magnitude::larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  return Magnitude::fold(m);
}

QUERN_DEVICE void write_elements(const KernelParams& p, const Slot& slot, const Share& share, float reciprocal) {
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (column_of(slot, k) < p.cols)
      store<kElements, kStore>(static_cast<u8*>(p.row_out) + slot.row * row_pitch(p) + column_of(slot, k),
                               quantize<kElements>(share.pieces[k], reciprocal));
  }
}

// Where the scales of a row begin.
QUERN_DEVICE u64 first_scale(const KernelParams& p, u64 row) {
  if constexpr (!spec::padded) return row * p.row_blocks;
  const u64 padding = divide(row, p.by_rows) * static_cast<u64>(round_up(p.rows, 128) - p.rows);
  return (row + padding) * static_cast<u64>(room_of_blocks(p.row_blocks));
}

QUERN_DEVICE void write_by_own(const KernelParams& p, const Slot& slot, const Share& share) {
  const u32 scale = stored_scale(block_magnitude(share));
  if (!slot.inside) return;
  write_elements(p, slot, share, Scaling::reciprocal(scale));
  if (threadIdx.x % kLanes == 0)
    store<kScaleBytes>(static_cast<u8*>(p.row_scales) + (first_scale(p, slot.row) + slot.column / kLanes) * kScaleBytes,
                       scale_vector(scale));
}

QUERN_DEVICE void write(const KernelParams& p, const Slot& slot, const Share& share) {
  if constexpr (!spec::given_scale) return write_by_own(p, slot, share);
  if (slot.inside) write_elements(p, slot, share, given_reciprocal(p));
}

QUERN_DEVICE void run_tile(const KernelParams& p, const Tile<spec::unroll>& tile) {
  ShareInputs inputs[spec::unroll] = {};
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      if (is_there(p, tile[i], k))
        inputs[i].pieces[k] = inputs_at(p, source_row(p, static_cast<i64>(tile[i].row)), column_of(tile[i], k));
    }
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) write(p, tile[i], numbers(p, tile[i], inputs[i]));
}

QUERN_DEVICE void run(const KernelParams& p) {
  Slots slots = p.slots;
  if constexpr (spec::groups) limit_slots(slots, static_cast<u64>(rows_in_groups(ends_of(p))) * slots.per_row);
  for_tiles<spec::unroll, spec::persistent>(slots, [&](const Tile<spec::unroll>& tile) { run_tile(p, tile); });
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_STREAM_CUH_
