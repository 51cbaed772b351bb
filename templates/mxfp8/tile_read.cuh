// How a thread gets its numbers: it reads them, or makes them from what it reads.
#ifndef QUERN_MXFP8_TILE_READ_CUH_
#define QUERN_MXFP8_TILE_READ_CUH_

#include "mxfp8/tile_patch.cuh"

namespace quern::mxfp8 {

struct RowInputs {
  Inputs pieces[kPieces];
};

QUERN_DEVICE void read_inputs(const KernelParams& p, const SourceRow& row, i64 column, RowInputs& inputs) {
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (has_piece(p, column, k)) inputs.pieces[k] = Made::read(p, row, column + k * kPieceColumns);
  }
}

QUERN_DEVICE RowWord row_of(const KernelParams& p, const RowInputs& inputs, i64 column) {
  RowWord row = {};
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    const Word piece = numbers_of(p, inputs.pieces[k], column + k * kPieceColumns);
    if (has_piece(p, column, k)) put_piece(row, k, piece);
  }
  return row;
}

// Rows of a prologue whose inputs are in flight together, and whose code is in the loop: unrolled code for all rows
// would exceed the instruction cache and the registers. On an H200 16384 x 4096, gated silu, direction both: 117 us,
// with a quarter of the rows 121.
constexpr int kMadeRows = kRows / 2;

// A thread's row in shared memory: registers cannot be indexed at run time.
QUERN_DEVICE u8* made_row(int row, u32 thread) {
  return dynamic_shared() + kShared.made + (row * kTileThreads + thread) * sizeof(RowWord);
}

// A thread's own rows, and their sums. Zeros for rows beyond the end.
template <class IsThere>
QUERN_DEVICE void make_own(const KernelParams& p, const SourceRow& row, i64 column, const IsThere& is_there,
                           ColumnSums& sums) {
#pragma unroll 1
  for (int first = 0; first < kRows; first += kMadeRows) {
    RowInputs inputs[kMadeRows] = {};
#pragma unroll
    for (int i = 0; i < kMadeRows; ++i) {
      if (is_there(first + i)) read_inputs(p, row + (first + i), column, inputs[i]);
    }
#pragma unroll
    for (int i = 0; i < kMadeRows; ++i) {
      const RowWord made = is_there(first + i) ? row_of(p, inputs[i], column) : RowWord{};
      store_shared<sizeof(RowWord)>(made_row(first + i, threadIdx.x), made);
      if constexpr (spec::bias_gradient) add_row(sums, first + i, made);
    }
  }
}

// Of two gradients, which are halves of a row and have the same inputs, a thread makes both, for half of the rows. The
// other rows are of the thread that has the same columns of the other half. On an H200 16384 rows of two gradients of
// 4096 columns take 201 us in both directions and 164 by columns; each made by other blocks 208 and 221.
constexpr u32 kHalfLanes = kPartLanes / 2;
constexpr int kBothRows = kRows / 4;  // whose inputs are in flight together

template <class IsThere>
QUERN_DEVICE void make_both(const KernelParams& p, const SourceRow& row, i64 column, const IsThere& is_there) {
  const u32 upper = threadIdx.x / kHalfLanes % 2, thread = threadIdx.x - upper * kHalfLanes;
  const int begin = static_cast<int>(upper) * (kRows / 2);
  const i64 half = p.cols / 2, in_half = column < half ? column : column - half;
#pragma unroll 1
  for (int first = begin; first < begin + kRows / 2; first += kBothRows) {
    Inputs inputs[kBothRows] = {};
#pragma unroll
    for (int i = 0; i < kBothRows; ++i) {
      if (is_there(first + i)) inputs[i] = Made::read(p, row + (first + i), in_half);
    }
#pragma unroll
    for (int i = 0; i < kBothRows; ++i) {
      Word halves[2] = {};
      if (is_there(first + i)) halves_of(p, inputs[i], in_half, halves);
      store_shared<sizeof(Word)>(made_row(first + i, thread), halves[0]);
      store_shared<sizeof(Word)>(made_row(first + i, thread + kHalfLanes), halves[1]);
    }
  }
  __syncwarp();
}

// From `row` on.
template <class IsThere>
QUERN_DEVICE Patch make_rows(const KernelParams& p, const SourceRow& row, i64 column, const IsThere& is_there) {
  Patch patch = {};
  if constexpr (kHalves)
    make_both(p, row, column, is_there);
  else
    make_own(p, row, column, is_there, patch.sums);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    patch.rows[i] = load_shared<sizeof(RowWord)>(made_row(i, threadIdx.x));
    if constexpr (kHalves && spec::bias_gradient) add_row(patch.sums, i, patch.rows[i]);
  }
  if constexpr (kStack == 1 && kTransposed) __syncthreads();  // then other threads write lines there
  return patch;
}

// Values without a prologue. `from`: the row's, at `column`.
QUERN_DEVICE RowWord read_row(const KernelParams& p, const Source* from, i64 column) {
  RowWord row = {};
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (has_piece(p, column, k)) put_piece(row, k, load<spec::vector>(from + k * kPieceColumns));
  }
  return row;
}

template <class IsThere>
QUERN_DEVICE Patch read_rows(const KernelParams& p, const SourceRow& row, i64 column, const IsThere& is_there) {
  if constexpr (kMakes) return make_rows(p, row, column, is_there);
  Patch patch = {};
  const Source* from = source_address(p, row, column);
#pragma unroll
  for (int i = 0; i < kRows; ++i, from += p.source_stride) {
    if (is_there(i)) patch.rows[i] = read_row(p, from, column);
  }
  if constexpr (spec::bias_gradient) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) add_row(patch.sums, i, patch.rows[i]);
  }
  return patch;
}

// Out-of-range threads load clamped addresses, which is cheaper than a check per read; the result is discarded.
QUERN_DEVICE Patch read_whole(const KernelParams& p, const ThreadPosition& at) {
  const i64 row = at.row < at.part.rows ? at.row : at.part.rows - kRows;
  const i64 column = at.column < p.cols ? at.column : p.cols - kColumns;
  return read_rows(p, {at.part.first_row + row, at.part.gap}, column, [](int) { return true; });
}

QUERN_DEVICE Patch read(const KernelParams& p, const ThreadPosition& at) {
  if constexpr (!spec::cut_bands) return read_whole(p, at);
  return read_rows(p, {at.part.first_row + at.row, at.part.gap}, at.column, [&](int i) { return i < at.rows; });
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_TILE_READ_CUH_
