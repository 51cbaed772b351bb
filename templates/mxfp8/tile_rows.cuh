// Blocks along rows: kLanes lanes share each.
#ifndef QUERN_MXFP8_TILE_ROWS_CUH_
#define QUERN_MXFP8_TILE_ROWS_CUH_

#include "mxfp8/tile_patch.cuh"

namespace quern::mxfp8 {

constexpr int kRowWords = kRows / Magnitude::kPerWord;  // magnitudes of a thread's rows
constexpr int kOwnWords = kRowWords > kLanes ? kRowWords / kLanes : 1;
constexpr int kSharers = kLanes > kRowWords ? kLanes / kRowWords : 1;  // lanes that end with the same word

// One magnitude per row, of the thread's columns; two rows per word if two fit.
QUERN_DEVICE void row_magnitudes(const Patch& patch, u32 (&m)[kRowWords]) {
  u32 rows[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    rows[i] = 0;
#pragma unroll
    for (int w = 0; w < RowWord::kWords; ++w) rows[i] = Magnitude::larger(rows[i], magnitudes_of(patch.rows[i].w[w]));
  }
#pragma unroll
  for (int k = 0; k < kRowWords; ++k) {
    if constexpr (Magnitude::kPerWord == 1) {
      m[k] = rows[k];
    } else {
      const u32 a = rows[2 * k], b = rows[2 * k + 1];
      m[k] = Magnitude::larger((a & 0xffffu) | b << 16, a >> 16 | (b & 0xffff0000u));
    }
  }
}

// In each step a lane passes half of its words on and receives the other lane's words of the half that it keeps. At the
// end it has the maxima of kOwnWords, in the order of its place among the sharers.
template <int kMask, int kCount>
QUERN_DEVICE void share_magnitudes(u32 (&m)[kRowWords]) {
  if constexpr (kMask > 0) {
    constexpr int kKept = kCount > 1 ? kCount / 2 : 1;
    const bool upper = kCount > 1 && (threadIdx.x & kMask) != 0;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const u32 other = kCount > 1 ? m[i + kCount / 2] : m[i];
      const u32 kept = upper ? other : m[i], given = upper ? m[i] : other;
      m[i] = Magnitude::larger(kept, __shfl_xor_sync(0xffffffffu, given, kMask));
    }
    share_magnitudes<kMask / 2, kKept>(m);
  }
}

QUERN_DEVICE u32 row_block(const ThreadPosition& at) { return at.column_in_tile / kBlock; }

// In the order in which they go to memory. `row`: of the stack.
constexpr bool kByBlock = spec::row_block_major && !spec::blocked;
QUERN_DEVICE u8* row_scale(u32 block, u32 row) {
  u8* const tile = dynamic_shared() + kShared.row_scales + row / kTileRows * (kTileRows * kTileBlocks * kScaleBytes);
  const u32 r = row % kTileRows;
  if constexpr (kRowAtoms) return tile + atom_byte(r, block);
  return tile + (kByBlock ? block * kTileRows + r : r * kTileBlocks + block) * kScaleBytes;
}
QUERN_DEVICE u8* row_reciprocal(u32 block, u32 row) {
  return dynamic_shared() + kShared.reciprocals + (block * kTileRows + row % kTileRows) * 4;
}

// `row`: of the thread's.
QUERN_DEVICE void put_row_scale(const ThreadPosition& at, u32 row, u32 scale) {
  store_shared<kScaleBytes>(row_scale(row_block(at), at.row_in_stack + row), scale_vector(scale));
}

QUERN_DEVICE void find_row_scales(const ThreadPosition& at, const Patch& patch) {
  u32 m[kRowWords];
  row_magnitudes(patch, m);
  share_magnitudes<kLanes / 2, kRowWords>(m);
  const u32 lane = threadIdx.x % kLanes;
  if (lane % kSharers != 0) return;
#pragma unroll
  for (int k = 0; k < kOwnWords; ++k) {
#pragma unroll
    for (int h = 0; h < Magnitude::kPerWord; ++h) {
      const u32 row = (lane / kSharers * kOwnWords + k) * Magnitude::kPerWord + h;
      const u32 scale = scale_here(at, Magnitude::kPerWord == 1 ? m[k] : m[k] >> 16 * h & 0xffffu);
      put_row_scale(at, row, scale);
      store_shared<4>(row_reciprocal(row_block(at), at.row_in_stack + row),
                      bit_cast<Vector<4>>(Scaling::reciprocal(scale)));
    }
  }
}

// Each row by its own reciprocal, or all by one.
template <class Reciprocals>
QUERN_DEVICE void write_rows(const KernelParams& p, const ThreadPosition& at, const Patch& patch,
                             const Reciprocals& four_from) {
  if (at.rows == 0) return;
  u8* to = static_cast<u8*>(p.row_out) + (at.part.first_row + at.row) * row_pitch(p) + at.column;
#pragma unroll
  for (int i = 0; i < kRows; i += 4) {
    const Vector<16> four = four_from(i);
#pragma unroll
    for (int k = 0; k < 4; ++k, to += row_pitch(p)) {
      if (has_row(at, i + k)) store_row(p, at, to, quantize<kColumns>(patch.rows[i + k], bit_cast<float>(four.w[k])));
    }
  }
}

QUERN_DEVICE void write_rows_by_their_own(const KernelParams& p, const ThreadPosition& at, const Patch& patch) {
  const u8* const first = row_reciprocal(row_block(at), at.row_in_stack);
  write_rows(p, at, patch, [&](int i) { return load_shared<16>(first + 4 * i); });
}

QUERN_DEVICE u8* row_scales(const KernelParams& p, const ThreadPosition& at) {
  return static_cast<u8*>(p.row_scales) + at.part.row_scales;
}

// Those of the warp's rows; several at once if they are contiguous in memory and not split.
QUERN_DEVICE void write_row_scales(const KernelParams& p, const ThreadPosition& at) {
  constexpr int kTogether = spec::scales_together;
  const u32 first = threadIdx.x / 32 * kBand, in_stack = at.row_in_stack / kTileRows * kTileRows;
#pragma unroll
  for (u32 i = threadIdx.x % 32; i < kBand * kTileBlocks / kTogether; i += 32) {
    const u32 row = first + (kByBlock ? i % kBand : i * kTogether / kTileBlocks);
    const u32 block = kByBlock ? i / kBand : i * kTogether % kTileBlocks;
    store_scales<spec::row_block_major>(
        row_scales(p, at), at.first_row + row, column_of(p, at.first_column, block * kBlock) / kBlock, at.part.rows,
        p.row_blocks, load_shared<kTogether * kScaleBytes>(row_scale(block, in_stack + row)));
  }
}

// Whole atoms: a warp for each tile of the stack. `at`: its first tile.
QUERN_DEVICE void write_row_atoms(const KernelParams& p, const ThreadPosition& at) {
  const u32 tile = threadIdx.x / 32, line = threadIdx.x % 32;
  if (tile >= kStack) return;
  const i64 first = at.first_row + tile * kTileRows;
  const i64 block = at.first_column / kBlock;
  if (first >= round_up(at.part.rows, kTileRows) || block >= round_up(p.row_blocks, 4)) return;
  store<16>(row_scales(p, at) + blocked_offset(first + line, block, p.row_blocks),
            load_shared<16>(row_scale(0, tile * kTileRows + line)));
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_ROWS_CUH_
