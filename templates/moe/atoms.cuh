// Blocked scales, in the order of memory. A sector of 32 bytes has those of eight rows, whose tokens are quantized at
// different times: if each wrote its own, memory would read and write the sector up to eight times. So a token's scales
// are stored once, in the plain layout, and for each row the token that it is of. Then warps write whole atoms.
#ifndef QUERN_MOE_ATOMS_CUH_
#define QUERN_MOE_ATOMS_CUH_

#include "moe/quantize.cuh"

namespace quern::moe {

constexpr u32 kAtomRows = 128, kAtomBlocks = 4;
constexpr u32 kAtomLines = kAtomRows / 32;  // rows of a lane, 32 apart: 16 adjacent bytes of an atom
constexpr int kTokenAccess = spec::token_access, kAtomAccess = spec::atom_access;  // bytes
// Of a warp: 16 adjacent bytes of each token. In single bytes only four, which are loads and registers enough.
constexpr u32 kAtomsAtOnce = kTokenAccess == 1 ? 1 : 4;
constexpr int kWordsBytes = kAtomsAtOnce * kAtomBlocks;

QUERN_DEVICE u32 atoms_of_row(const Params& p) { return blocks_of_row(p) / kAtomBlocks; }

// The scales of a row from a block on, a word for each atom; zeros in padding rows and after the last block.
QUERN_DEVICE Vector<kWordsBytes> load_words(const Params& p, u32 source, u32 first) {
  Vector<kWordsBytes> words = {};
  if (source == kNoSource || source == kZeros) return words;
  const u8* const from = static_cast<const u8*>(p.token_scales) + static_cast<u64>(source - 1) * blocks_of_row(p);
#pragma unroll
  for (u32 i = 0; i < kWordsBytes / kTokenAccess; ++i) {
    const u32 block = first + i * kTokenAccess;
    if (block < blocks_of_row(p)) put_piece(words, static_cast<int>(i), load<kTokenAccess>(from + block));
  }
  return words;
}

// The 16 bytes of a lane. Rows that the launch does not write keep what they have.
QUERN_DEVICE void store_lines(u8* to, const u32 (&sources)[kAtomLines], const Vector<16>& scales) {
  bool all = true;
#pragma unroll
  for (u32 i = 0; i < kAtomLines; ++i) all = all && sources[i] != kNoSource;
  if (kAtomAccess == 16 && all) return store<16, kStore>(to, scales);
  constexpr u32 kBytes = kAtomAccess < 4 ? kAtomAccess : 4;
#pragma unroll
  for (u32 i = 0; i < 16 / kBytes; ++i) {
    if (sources[i * kBytes / 4] != kNoSource)
      store<kBytes>(to + i * kBytes, piece_of<kBytes>(scales, static_cast<int>(i)));
  }
}

// Atoms first, first + 1, … of 128 rows, by a warp.
QUERN_DEVICE void write_atoms(const Params& p, u32 tile, u32 first) {
  const u32 row = tile * kAtomRows + threadIdx.x % 32;
  u32 sources[kAtomLines];
#pragma unroll
  for (u32 i = 0; i < kAtomLines; ++i) sources[i] = load<4>(p.row_sources + row + i * 32).w[0];
  Vector<kWordsBytes> words[kAtomLines];
#pragma unroll
  for (u32 i = 0; i < kAtomLines; ++i) words[i] = load_words(p, sources[i], first * kAtomBlocks);
#pragma unroll
  for (u32 a = 0; a < kAtomsAtOnce; ++a) {
    if (first + a >= atoms_of_row(p)) return;
    Vector<16> scales;
#pragma unroll
    for (u32 i = 0; i < kAtomLines; ++i) scales.w[i] = words[i].w[a];
    const i64 at = mx::blocked_offset(row, (first + a) * kAtomBlocks, p.blocks);
    store_lines(static_cast<u8*>(p.out_scales) + at, sources, scales);
  }
}

// Tiles of 128 rows, of which a block has every gridDim.x-th. Its warps share all of them.
QUERN_DEVICE void write_tiles(const Params& p) {
  const u32 runs = (atoms_of_row(p) + kAtomsAtOnce - 1) / kAtomsAtOnce;
  if (runs == 0) return;
#pragma unroll 1
  for (u32 unit = threadIdx.x / 32;; unit += blockDim.x / 32) {
    const u32 tile = blockIdx.x + unit / runs * gridDim.x;
    if (tile >= p.tiles) return;
    write_atoms(p, tile, unit % runs * kAtomsAtOnce);
  }
}

// The next launch finds the workspace as this one did. No other block reads what is of this block's tiles.
QUERN_DEVICE void clear_sources(const Params& p) {
#pragma unroll 1
  for (u32 i = threadIdx.x;; i += blockDim.x) {
    const u32 tile = blockIdx.x + i / kAtomRows * gridDim.x;
    if (tile >= p.tiles) return;
    set_source(p, tile * kAtomRows + i % kAtomRows, kNoSource);
  }
}

// By the last block that has passed the barrier.
QUERN_DEVICE void clear_barrier(const Params& p) {
  if (gridDim.x == 1 || threadIdx.x != 0 || add_relaxed(true, p.ended, 1) + 1 != gridDim.x) return;
  store_relaxed(p.ended, 0);
  store_relaxed(p.barrier, 0);
}

}  // namespace quern::moe

#endif  // QUERN_MOE_ATOMS_CUH_
