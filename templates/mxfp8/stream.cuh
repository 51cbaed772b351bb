// The stream form, for blocks along rows: a lane reads one vector of a block, neighbours in a warp share its scale.
#ifndef QUERN_MXFP8_STREAM_CUH_
#define QUERN_MXFP8_STREAM_CUH_

#include "mxfp8/blocks.cuh"

namespace quern::mxfp8 {

using KernelParams = StreamParams;
using Word = Vector<spec::vector>;

constexpr int kElements = spec::vector / sizeof(Source);
constexpr int kLanes = kBlock / kElements;  // of a block

// A slot's row and expert. With the blocked layout an expert's rows are padded to whole atoms, and slots are too.
struct Place {
  u64 expert;
  i64 row;
  i64 block;
  i64 column;
  bool inside;  // of the source
};

QUERN_DEVICE Place place(const KernelParams& p, const Slot& slot) {
  Place at = {0, static_cast<i64>(slot.row), slot.column / kLanes, static_cast<i64>(slot.column) * kElements, false};
  if constexpr (spec::blocked && spec::experts) {
    at.expert = divide(slot.row, p.by_rows);
    at.row -= static_cast<i64>(at.expert) * round_up(p.rows, 128);
  }
  at.inside = slot.inside && at.column < p.cols && (!spec::blocked || at.row < p.rows);
  return at;
}

QUERN_DEVICE u64 row_of(const KernelParams& p, const Place& at) { return at.expert * p.rows + at.row; }

QUERN_DEVICE Word read(const KernelParams& p, const Place& at) {
  if (!at.inside) return {};
  return load<spec::vector, kLoad>(static_cast<const Source*>(p.source) + row_of(p, at) * p.source_stride + at.column);
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

QUERN_DEVICE void write(const KernelParams& p, const Place& at, bool in_slots, const Word& vector) {
  const u32 scale = scale_byte(block_magnitude(vector));
  if (at.inside) {
    store<kElements, kStore>(static_cast<u8*>(p.row_out) + row_of(p, at) * p.cols + at.column,
                             quantize<kElements>(vector, scale_reciprocal(scale)));
  }
  if (in_slots && threadIdx.x % kLanes == 0)
    store_scales<false>(p.row_scales, at.expert, at.row, at.block, p.lines, p.row_blocks,
                        Vector<1>{{static_cast<u8>(scale)}});
}

QUERN_DEVICE void run_tile(const KernelParams& p, const Tile<spec::unroll>& tile) {
  Word vectors[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) vectors[i] = read(p, place(p, tile[i]));
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    write(p, place(p, slot), slot.inside, vectors[i]);
  }
}

QUERN_DEVICE void run(const KernelParams& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots, [&](const Tile<spec::unroll>& tile) { run_tile(p, tile); });
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_STREAM_CUH_
