// A thread's part of a tile: where it is, and its numbers.
#ifndef QUERN_MXFP8_TILE_PATCH_CUH_
#define QUERN_MXFP8_TILE_PATCH_CUH_

#include "mxfp8/tile_part.cuh"

namespace quern::mxfp8 {

// A thread's place in one tile of its block's stack. Rows are the part's.
struct Place {
  Part part;
  i64 first_row;     // of the tile
  i64 first_column;  // of the tile
  i64 row;           // of the thread
  i64 column;        // of the thread
  u32 column_in_tile;
  u32 row_in_stack;
  int rows;  // of the thread that are there, at most kRows
};

// A number of which the compiler must not keep what it has made of it for an earlier tile: that costs registers.
QUERN_DEVICE u32 afresh(u32 x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(x));
#endif
  return x;
}

QUERN_DEVICE Place place(const KernelParams& p, u32 tile) {
  const Spot stack = spot(p, afresh(blockIdx.x));
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Place at;
  at.part = part_of(p, stack);
  at.first_row = (at.part.stack * kStack + tile) * kTileRows;
  at.first_column = static_cast<i64>(stack.column) * kTileColumns;
  const u32 row_in_tile = warp * kBlock + lane / kPartLanes * kRows;
  at.row_in_stack = tile * kTileRows + row_in_tile;
  at.column_in_tile = lane % kPartLanes * kColumns;
  at.row = at.first_row + row_in_tile;
  at.column = at.first_column + at.column_in_tile;
  const i64 left = at.column < p.cols ? at.part.rows - at.row : 0;
  at.rows = left < 0 ? 0 : left < kRows ? static_cast<int>(left) : kRows;
  return at;
}

struct Patch {
  Word rows[kRows];
};

// A thread that has nothing reads its neighbours': cheaper than to ask at each read. What it makes of it is not used.
QUERN_DEVICE Patch read_whole(const KernelParams& p, const Place& at) {
  const i64 row = at.row < at.part.rows ? at.row : at.part.rows - kRows;
  const i64 column = at.column < p.cols ? at.column : p.cols - kColumns;
  const Source* from = static_cast<const Source*>(p.source) + (at.part.first_row + row) * p.source_stride + column;
  Patch patch;
#pragma unroll
  for (int i = 0; i < kRows; ++i, from += p.source_stride) patch.rows[i] = load<spec::vector>(from);
  return patch;
}

QUERN_DEVICE Patch read(const KernelParams& p, const Place& at) {
  if constexpr (!spec::cut_bands) return read_whole(p, at);
  const Source* const from =
      static_cast<const Source*>(p.source) + (at.part.first_row + at.row) * p.source_stride + at.column;
  Patch patch;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    patch.rows[i] = {};
    if (i < at.rows) patch.rows[i] = load<spec::vector>(from + i * p.source_stride);
  }
  return patch;
}

// The same bits, of which the compiler must not keep in registers what it has made of them so far.
template <int Bytes>
QUERN_DEVICE void forget(Vector<Bytes>& vector) {
#ifdef __CUDA_ARCH__
  if constexpr (Bytes < 4) {
    asm volatile("" : "+h"(vector.w[0]));
  } else {
#pragma unroll
    for (int i = 0; i < Bytes / 4; ++i) asm volatile("" : "+r"(vector.w[i]));
  }
#endif
}

QUERN_DEVICE void forget(Patch& patch) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) forget(patch.rows[i]);
}

// Element `j` of a vector, in float.
template <class T>
QUERN_DEVICE float element_of(const Word& vector, int j) {
  if constexpr (sizeof(T) == 4) {
    return bit_cast<float>(vector.w[j]);
  } else {
    return T::decode(code_at<u16>(vector, j));
  }
}
QUERN_DEVICE float element(const Word& vector, int j) { return element_of<Source>(vector, j); }

// Whether a row of a thread that has some is there.
QUERN_DEVICE bool has_row(const Place& at, int i) { return !spec::cut_bands || i < at.rows; }

// The scale of a folded magnitude; 0 in the padding, which with cut bands was read as zeros.
QUERN_DEVICE u32 scale_here(const Place& at, u32 magnitude) {
  return !spec::cut_bands && at.rows == 0 ? 0 : scale_byte(magnitude);
}

// Whether this thread speaks for what the parts of a band have in common.
QUERN_DEVICE bool is_first_part() { return threadIdx.x % 32 < kPartLanes; }

// The largest of a thread's magnitudes and its other parts'.
QUERN_DEVICE u32 over_parts(u32 m) {
#pragma unroll
  for (int mask = 16; mask >= kPartLanes; mask /= 2) m = Magnitude::larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  return m;
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_PATCH_CUH_
