// A thread's part of a tile: where it is, and its numbers.
#ifndef QUERN_MXFP8_TILE_PATCH_CUH_
#define QUERN_MXFP8_TILE_PATCH_CUH_

#include "mxfp8/tile_part.cuh"

namespace quern::mxfp8 {

// A thread's place in one tile of its block's stack. Rows are the part's.
struct ThreadPosition {
  TilePart part;
  i64 first_row;     // of the tile
  i64 first_column;  // of the tile, see column_of
  i64 row;           // of the thread
  i64 column;        // of the thread
  u32 column_in_tile;
  u32 row_in_stack;
  int rows;  // of the thread, inside the matrix; at most kRows
};

// The matrix's column that a column of a tile is, beyond the end if there is none. `first`: the tile's first column,
// with halves that of either half.
QUERN_DEVICE i64 column_of(const KernelParams& p, i64 first, u32 in_tile) {
  if constexpr (!kHalves) return first + in_tile;
  const i64 half = p.cols / 2, in_half = first + in_tile % kStackColumns;
  return in_half >= half ? p.cols : in_tile < kStackColumns ? in_half : half + in_half;
}

QUERN_DEVICE ThreadPosition thread_position(const KernelParams& p, u32 tile) {
  const StackPosition stack = stack_position(p, opaque(blockIdx.x));
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  ThreadPosition at;
  at.part = part_of(p, stack);
  at.first_row = (at.part.stack * kStack + tile) * kTileRows;
  at.first_column = static_cast<i64>(stack.column) * kStackColumns;
  const u32 row_in_tile = warp * kBand + lane / kPartLanes * kRows;
  at.row_in_stack = tile * kTileRows + row_in_tile;
  at.column_in_tile = lane % kPartLanes * kColumns;
  at.row = at.first_row + row_in_tile;
  at.column = column_of(p, at.first_column, at.column_in_tile);
  const i64 left = at.column < p.cols ? at.part.rows - at.row : 0;
  at.rows = left < 0 ? 0 : left < kRows ? static_cast<int>(left) : kRows;
  return at;
}

// A thread's numbers of one row.
using RowWord = Vector<kColumns* static_cast<int>(sizeof(Source))>;

// Element `j` of a vector, in float.
template <class T>
QUERN_DEVICE float element_of(const RowWord& vector, int j) {
  if constexpr (sizeof(T) == 4) {
    return bit_cast<float>(vector.w[j]);
  } else {
    return T::decode(code_at<u16>(vector, j));
  }
}
QUERN_DEVICE float element(const RowWord& vector, int j) { return element_of<Source>(vector, j); }

// For the bias gradient: sums of a thread's columns over 16 rows; with 32 rows, of its first 16 and of the others.
struct ColumnSums {
  float first[kColumns];
  float sum[kColumns];
};

QUERN_DEVICE void add_row(ColumnSums& sums, int row, const RowWord& numbers) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    if (kRows == 32 && row == 16) {
      sums.first[j] = sums.sum[j];
      sums.sum[j] = 0;
    }
    sums.sum[j] += element(numbers, j);
  }
}

struct Patch {
  RowWord rows[kRows];
  ColumnSums sums;
};

// The same bits, with a compiler barrier: values derived from them earlier must not be kept in registers.
template <int Bytes>
QUERN_DEVICE void discard_derived(Vector<Bytes>& vector) {
#ifdef __CUDA_ARCH__
  if constexpr (Bytes < 4) {
    asm volatile("" : "+h"(vector.w[0]));
  } else {
#pragma unroll
    for (int i = 0; i < Bytes / 4; ++i) asm volatile("" : "+r"(vector.w[i]));
  }
#endif
}

// If the thread's row is read and written in more than one access: whether this access is inside the row. Only then
// may the number of columns be arbitrary.
QUERN_DEVICE bool has_piece(const KernelParams& p, i64 column, int piece) {
  return kPieces == 1 || !spec::cut_bands || column + piece * kPieceColumns < p.cols;
}

// All of it.
QUERN_DEVICE void discard_derived(Patch& patch) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) discard_derived(patch.rows[i]);
}

// Whether a row of a thread with rows is inside the matrix.
QUERN_DEVICE bool has_row(const ThreadPosition& at, int i) { return !spec::cut_bands || i < at.rows; }

// A thread's elements of one row.
QUERN_DEVICE void store_row(const KernelParams& p, const ThreadPosition& at, u8* to, const Vector<kColumns>& elements) {
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (has_piece(p, at.column, k))
      store<kPieceColumns, kStore>(to + k * kPieceColumns, piece_of<kPieceColumns>(elements, k));
  }
}

// The scale of a folded magnitude; 0 in the padding, which was read as zeros in partial bands.
QUERN_DEVICE u32 scale_here(const ThreadPosition& at, u32 magnitude) {
  return !spec::cut_bands && at.rows == 0 ? 0 : stored_scale(magnitude);
}

// Whether this thread writes what the parts of a band have in common.
QUERN_DEVICE bool is_first_part() { return threadIdx.x % 32 < kPartLanes; }

// The largest magnitude of a thread and of its other parts.
QUERN_DEVICE u32 over_parts(u32 m) {
#pragma unroll
  for (int mask = 16; mask >= kPartLanes; mask /= 2) m = Magnitude::larger(m, __shfl_xor_sync(0xffffffffu, m, mask));
  return m;
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_PATCH_CUH_
