// The bias gradient: the quantized values, summed over the rows of each column. The order is the same for every config:
// 16 rows in sequence, two such sums, four bands of 32 rows, up to 32 tiles in sequence, and all of these in sequence.
// The last block to arrive at a part of the sums continues with it, so one launch is enough. The others have sent their
// sums by then, but the sums may not have arrived, so it waits for each; that needs no other block to run. A fence in
// every block would cost a tenth of all time and more.
#ifndef QUERN_MXFP8_BIAS_CUH_
#define QUERN_MXFP8_BIAS_CUH_

#include "common/sent_sums.cuh"
#include "mxfp8/tile_patch.cuh"

namespace quern::mxfp8 {

// `band`: of the stack.
QUERN_DEVICE u8* band_sum(u32 band, u32 column) {
  return dynamic_shared() + kShared.sums + (band * kTileColumns + column) * 4;
}

// Of the thread's band; rows beyond the end are zeros.
QUERN_DEVICE float band_sum_of(const ColumnSums& sums, int j) {
  if constexpr (kRows == 32) return sums.first[j] + sums.sum[j];
  return sums.sum[j] + __shfl_xor_sync(0xffffffffu, sums.sum[j], kPartLanes);
}

QUERN_DEVICE void put_band_sums(const ThreadPosition& at, const ColumnSums& own) {
  constexpr int kAtOnce = kColumns < 4 ? kColumns : 4;
#pragma unroll
  for (int j = 0; j < kColumns; j += kAtOnce) {
    Vector<kAtOnce* 4> sums = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const float sum = band_sum_of(own, j + k);
      sums.w[k] = bit_cast<u32>(at.rows == 0 ? 0.0f : sum);
    }
    if (is_first_part()) store_shared<kAtOnce * 4>(band_sum(at.row_in_stack / kBand, at.column_in_tile + j), sums);
  }
}

// ---- From block to block. A warp has 32 of the tile's columns, a lane has one.

constexpr int kStripColumns = 32;
static_assert(kTileColumns <= kStripColumns * kTileThreads / 32, "a warp for each strip");
static_assert(kChunkTiles % kStack == 0, "a stack is of one chunk");

struct Strip {
  i64 expert;
  i64 column;      // of the lane
  i64 first_tile;  // of the block's stack
  i64 tiles;       // of the expert

  QUERN_DEVICE i64 chunks() const { return (tiles + kChunkTiles - 1) / kChunkTiles; }
  QUERN_DEVICE i64 chunk() const { return first_tile / kChunkTiles; }
  QUERN_DEVICE u32 tiles_of_chunk() const { return lesser(tiles - chunk() * kChunkTiles, kChunkTiles); }
  QUERN_DEVICE u32 tiles_of_stack() const { return lesser(tiles - first_tile, kStack); }
  static QUERN_DEVICE u32 lesser(i64 a, u32 b) { return a < b ? static_cast<u32>(a) : b; }
};

QUERN_DEVICE Strip strip_of(const KernelParams& p) {
  const StackPosition stack = stack_position(p, opaque(blockIdx.x));
  return {static_cast<i64>(stack.expert), column_of(p, static_cast<i64>(stack.column) * kStackColumns, threadIdx.x),
          static_cast<i64>(stack.row) * kStack, (p.rows + kTileRows - 1) / kTileRows};
}

// Whether the lane has a column, and whether the warp has any.
QUERN_DEVICE bool has_column(const KernelParams& p, const Strip& s) {
  return threadIdx.x < kTileColumns && s.column < p.cols;
}
QUERN_DEVICE bool has_strip(const KernelParams& p, const Strip& s) {
  const i64 first = kHalves ? s.column : s.column - threadIdx.x % 32;  // strips of halves are whole
  return threadIdx.x < kTileColumns && first < p.cols;
}

QUERN_DEVICE u32* tile_sum(const KernelParams& p, const Strip& s, i64 tile) {
  return static_cast<u32*>(p.tile_sums) + (s.expert * s.tiles + tile) * p.cols + s.column;
}
QUERN_DEVICE u32* chunk_sum(const KernelParams& p, const Strip& s, i64 chunk) {
  return static_cast<u32*>(p.chunk_sums) + (s.expert * s.chunks() + chunk) * p.cols + s.column;
}
QUERN_DEVICE u32* arrived(const KernelParams& p, const Strip& s, i64 chunk) {
  const i64 strips = (p.cols + kStripColumns - 1) / kStripColumns;
  return static_cast<u32*>(p.arrived) + (s.expert * strips + s.column / kStripColumns) * (s.chunks() + 1) + chunk;
}

// After the bands' sums are in shared memory. Returns, in the first lane, the number of tiles of the chunk sent before.
QUERN_DEVICE u32 send_tile_sums(const KernelParams& p) {
  const Strip s = strip_of(p);
  if (has_column(p, s)) {
    for (u32 tile = 0; tile < s.tiles_of_stack(); ++tile) {
      float band[4];
#pragma unroll
      for (u32 k = 0; k < 4; ++k) band[k] = bit_cast<float>(load_shared<4>(band_sum(4 * tile + k, threadIdx.x)));
      send_sum(tile_sum(p, s, s.first_tile + tile), (band[0] + band[1]) + (band[2] + band[3]));
    }
  }
  return add_relaxed(threadIdx.x % 32 == 0 && has_column(p, s), arrived(p, s, s.chunk()), s.tiles_of_stack());
}

QUERN_DEVICE void write_bias_gradient(const KernelParams& p, const Strip& s, float sum) {
  store<4>(static_cast<float*>(p.bias_gradient) + s.expert * p.cols + s.column,
           Vector<4>{{sum != sum ? kNan : bit_cast<u32>(sum)}});
}

QUERN_DEVICE bool sends_last_chunk(const KernelParams& p, const Strip& s, float sum) {
  if (has_column(p, s)) send_sum(chunk_sum(p, s, s.chunk()), sum);
  u32* const chunks = arrived(p, s, s.chunks());
  return is_last(chunks, add_relaxed(threadIdx.x % 32 == 0, chunks, 1), 1, static_cast<u32>(s.chunks()));
}

// Of no rows.
QUERN_DEVICE void write_zeros(const KernelParams& p) {
  const Strip s = strip_of(p);
  if (has_column(p, s)) write_bias_gradient(p, s, 0);
}

// At the block's end. `before`: of send_tile_sums.
QUERN_DEVICE void add_sums(const KernelParams& p, u32 before) {
  const Strip s = strip_of(p);
  if (!has_strip(p, s) || !is_last(arrived(p, s, s.chunk()), before, s.tiles_of_stack(), s.tiles_of_chunk())) return;
  const bool mine = has_column(p, s);
  float sum = mine ? sum_received(tile_sum(p, s, s.chunk() * kChunkTiles), s.tiles_of_chunk(), p.cols) : 0;
  if (s.chunks() > 1) {
    if (!sends_last_chunk(p, s, sum)) return;
    if (mine) sum = sum_received(chunk_sum(p, s, 0), s.chunks(), p.cols);
  }
  if (mine) write_bias_gradient(p, s, sum);
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_BIAS_CUH_
