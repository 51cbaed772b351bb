// Slots of out in 8 bits. Threads that share a scale are adjacent; the slots of tables of all types are made before
// the largest magnitude is asked for. Beyond the end of a row, and of out, are zeros.
#ifndef QUERN_EMBEDDING_QUANTIZED_CUH_
#define QUERN_EMBEDDING_QUANTIZED_CUH_

#include "common/scaling.cuh"
#include "common/shared.cuh"
#include "embedding/pieces.cuh"
#include "mx/scale_places.cuh"

namespace quern::embedding {

using Element = spec::Element;
using Scaling = ScalingOf<spec::scale_format, Element, spec::scale_mode, spec::policy>::Type;

constexpr u32 kSharing = spec::block_length == 0 ? 1 : spec::block_length / kElements;  // adjacent threads of a block
constexpr int kRows = spec::tile_rows;

struct MakeSlots {
  const Params& p;
  const Lane& lane;
  const Source& source;
  u32 number;
  OutSlots& out;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
    make_slots<T>(p, lane, source, number, out);
  }
};

QUERN_DEVICE void make_out(const Params& p, const Lane& lane, OutSlots& out) {
#pragma unroll
  for (OutBits& bits : out) bits = {};
  if (!lane.has(0)) return;
  if (lane.column < p.dense_columns) return read_dense(p, lane, out);
  const u32 number = table_of(p, lane.column);
  const Source source = source_of(p, number, lane.column);
  with_type(source.table.type, MakeSlots{p, lane, source, number, out});
}

QUERN_DEVICE u32 larger(u32 a, u32 b) { return a > b ? a : b; }

// As fp32's bits.
QUERN_DEVICE u32 magnitude_of(const OutBits& bits) {
  using Largest = Magnitudes<Out>;
  u32 m = 0;
#pragma unroll
  for (int w = 0; w < OutBits::kWords; ++w)
    m = Largest::larger(m, magnitudes<Out, spec::policy>(static_cast<u32>(bits.w[w])));
  return Largest::as_fp32(Largest::fold(m));
}

// Gives each of `lanes` adjacent threads the largest of theirs. All threads of the block call it, once. Where they are
// several warps, the block has kRows words of shared memory for each warp.
QUERN_DEVICE void share(u32 lanes, u32 (&largest)[kRows]) {
#pragma unroll
  for (u32 mask = 1; mask < 32; mask *= 2) {
    if (mask >= lanes) break;
#pragma unroll
    for (u32& m : largest) m = larger(m, __shfl_xor_sync(0xffffffffu, m, static_cast<int>(mask)));
  }
  if (lanes <= 32) return;
  const SharedWords of_warps(0);
  const u32 warp = threadIdx.x / 32, first = warp & ~(lanes / 32 - 1);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (threadIdx.x % 32 == 0) of_warps.set(warp * kRows + static_cast<u32>(i), largest[i]);
  }
  __syncthreads();
#pragma unroll 1
  for (u32 w = first; w < first + lanes / 32; ++w) {
#pragma unroll
    for (u32 i = 0; i < kRows; ++i) largest[i] = larger(largest[i], of_warps.get(w * kRows + i));
  }
}

QUERN_DEVICE void write(const Params& p, const Lane& lane, int i, const OutBits& bits, float factor) {
  if (!lane.has(i)) return;
  u8* const row = static_cast<u8*>(p.out) + lane.row(i) * p.out_stride;
  store<kElements, kStore>(row + static_cast<u64>(lane.column) * kElements,
                           scaled_to<Element, Out, kElements>(bits, factor));
}

QUERN_DEVICE void put_scale(const Params& p, i64 at, u32 scale) {
  using Stored = Vector<Scaling::kBytes>;
  store<Scaling::kBytes>(static_cast<u8*>(p.out_scales) + at * Scaling::kBytes,
                         Stored{{static_cast<typename Stored::Word>(scale)}});
}

// Blocked ones have padding, whose scales are those of zeros: 0.
QUERN_DEVICE void put_block_scale(const Params& p, const Lane& lane, int i, u32 scale) {
  const u32 block = lane.column / kSharing, blocks = (p.columns + kSharing - 1) / kSharing;
  const i64 row = lane.row(i);
  if (lane.column % kSharing != 0 || block >= (spec::blocked ? (blocks + 3) / 4 * 4 : blocks)) return;
  if (row >= (spec::blocked ? mx::round_up(static_cast<u64>(p.batch), 128) : p.batch)) return;
  put_scale(p, spec::blocked ? mx::blocked_offset(row, block, blocks) : row * blocks + block, scale);
}

QUERN_DEVICE void fill_blocks(const Params& p) {
  const Lane lane = lane_of(p);
  OutSlots out;
  make_out(p, lane, out);
  u32 largest[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) largest[i] = magnitude_of(out[i]);
  share(kSharing, largest);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const u32 scale = Scaling::stored(largest[i]);
    put_block_scale(p, lane, i, scale);
    write(p, lane, i, out[i], Scaling::reciprocal(scale));
  }
}

// A row that is wider than a thread block is made twice, but for its first tile, which is made last.
QUERN_DEVICE void fill_rows(const Params& p) {
  OutSlots out;
  u32 largest[kRows] = {};
#pragma unroll 1
  for (u32 tile = p.across; tile-- > 0;) {
    make_out(p, lane_at(p, blockIdx.x, tile << p.lanes_log2), out);
#pragma unroll
    for (int i = 0; i < kRows; ++i) largest[i] = larger(largest[i], magnitude_of(out[i]));
  }
  share(1u << p.lanes_log2, largest);
#pragma unroll 1
  for (u32 tile = 0; tile < p.across; ++tile) {
    const Lane lane = lane_at(p, blockIdx.x, tile << p.lanes_log2);
    if (tile != 0) make_out(p, lane, out);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const u32 scale = Scaling::stored(largest[i]);
      if (lane.column == 0 && lane.has(i)) put_scale(p, lane.row(i), scale);
      write(p, lane, i, out[i], Scaling::reciprocal(scale));
    }
  }
}

QUERN_DEVICE void fill_by_given(const Params& p) {
  const Lane lane = lane_of(p);
  OutSlots out;
  make_out(p, lane, out);
  const float factor = 1.0f / bit_cast<float>(load<4, LoadHint::keep>(p.out_scales));
#pragma unroll
  for (int i = 0; i < kRows; ++i) write(p, lane, i, out[i], factor);
}

QUERN_DEVICE void fill_out(const Params& p) {
  if constexpr (spec::scaling == EmbeddingScaling::tensor)
    fill_by_given(p);
  else if constexpr (spec::scaling == EmbeddingScaling::row)
    fill_rows(p);
  else
    fill_blocks(p);
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_QUANTIZED_CUH_
