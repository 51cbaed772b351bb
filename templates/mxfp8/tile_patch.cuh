// A thread's part of a tile: where it is, and its numbers.
#ifndef QUERN_MXFP8_TILE_PATCH_CUH_
#define QUERN_MXFP8_TILE_PATCH_CUH_

#include "common/shared.cuh"
#include "common/sync.cuh"
#include "mxfp8/blocks.cuh"

namespace quern::mxfp8 {

using KernelParams = TileParams;
using Word = Vector<spec::vector>;

constexpr int kRows = spec::rows;                        // of a thread
constexpr int kParts = kBlock / kRows;                   // of a warp's rows, each of other lanes
constexpr int kPartLanes = 32 / kParts;                  // side by side
constexpr int kColumns = spec::vector / sizeof(Source);  // of a thread
constexpr int kLanes = kBlock / kColumns;                // that share a block along a row
constexpr int kTileColumns = kPartLanes * kColumns;
constexpr int kTileBlocks = kTileColumns / kBlock;  // along a row
static_assert(kLanes <= kPartLanes, "a block along a row lies in one part");
constexpr int kStack = spec::stack;
constexpr int kLineBytes = kStack * kTileRows;  // of a transposed line
constexpr int kCluster = spec::cluster;
constexpr bool kSquare = spec::block != Block::line;
constexpr bool kTransposed = spec::col && spec::transposed;

// Blocked scales of a tile that are a whole atom, or whole parts of its 16-byte units, are put together before they are
// written.
constexpr bool kRowAtoms = spec::row && spec::atoms && kTileBlocks == 4;
constexpr bool kColumnAtoms = spec::col && spec::atoms;

constexpr TileShared kShared =
    tile_shared({kTileColumns, kStack, kTransposed, spec::row && !kSquare, spec::row, kCluster > 1, kColumnAtoms});

// A thread's place in one tile of its block's stack.
struct Place {
  u64 expert;
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
  const u32 index = afresh(blockIdx.x);
  const u64 expert = divide(index, p.by_stacks);
  const u32 stack = static_cast<u32>(index - expert * (static_cast<u64>(p.across) * p.down));
  const u32 group = stack / (p.group * p.down), first = group * p.group;
  const u32 width = p.across - first < p.group ? p.across - first : p.group;
  const u32 in_group = stack - first * p.down;
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Place at;
  at.expert = expert;
  at.first_row = (static_cast<i64>(in_group / width) * kStack + tile) * kTileRows;
  at.first_column = static_cast<i64>(first + in_group % width) * kTileColumns;
  const u32 row_in_tile = warp * kBlock + lane / kPartLanes * kRows;
  at.row_in_stack = tile * kTileRows + row_in_tile;
  at.column_in_tile = lane % kPartLanes * kColumns;
  at.row = at.first_row + row_in_tile;
  at.column = at.first_column + at.column_in_tile;
  const i64 left = at.column < p.cols ? p.rows - at.row : 0;
  at.rows = left < 0 ? 0 : left < kRows ? static_cast<int>(left) : kRows;
  return at;
}

struct Patch {
  Word rows[kRows];
};

// A thread that has nothing reads its neighbours': cheaper than to ask at each read. What it makes of it is not used.
QUERN_DEVICE Patch read_whole(const KernelParams& p, const Place& at) {
  const i64 row = at.row < p.rows ? at.row : p.rows - kRows;
  const i64 column = at.column < p.cols ? at.column : p.cols - kColumns;
  const Source* from = static_cast<const Source*>(p.source) + (at.expert * p.rows + row) * p.source_stride + column;
  Patch patch;
#pragma unroll
  for (int i = 0; i < kRows; ++i, from += p.source_stride) patch.rows[i] = load<spec::vector>(from);
  return patch;
}

QUERN_DEVICE Patch read(const KernelParams& p, const Place& at) {
  if constexpr (!spec::cut_bands) return read_whole(p, at);
  const Source* const from =
      static_cast<const Source*>(p.source) + (at.expert * p.rows + at.row) * p.source_stride + at.column;
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
