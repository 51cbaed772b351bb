// How a thread gets its numbers: it reads them, or makes them from what it reads.
#ifndef QUERN_MXFP8_TILE_READ_CUH_
#define QUERN_MXFP8_TILE_READ_CUH_

#include "common/copy_async.cuh"
#include "mxfp8/tile_patch.cuh"

namespace quern::mxfp8 {

struct RowInputs {
  Inputs pieces[kPieces];
};

QUERN_DEVICE void read_inputs(const KernelParams& p, const SourceRow& row, i64 column, RowInputs& inputs) {
  Read read;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (has_piece(p, column, k)) for_inputs(p, row, column + k * kPieceColumns, inputs.pieces[k], read);
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

// ---- Asynchronous copies: all inputs of a tile are on their way at once, and take no registers. On an H200 16384 x
// 4096, gated silu, direction both: 106 us, through registers 116; both gradients 185 us, through registers and each
// made by other blocks 208; by columns 134 and 221.

// The vectors of a row that a thread makes of the same inputs: two gradients are the same columns of both halves. Then
// it makes them for half of its rows; the thread with those columns of the other half does it for the others.
constexpr int kMadeVectors = kHalves ? 2 : 1;
constexpr int kRowsToMake = kRows / kMadeVectors;
constexpr u32 kHalfLanes = kPartLanes / 2;

struct RowShare {
  u32 thread;  // whose vector is the first of them
  int begin;   // the first row to make
  i64 column;  // of the first of them
};
QUERN_DEVICE RowShare share_of(const KernelParams& p, i64 column) {
  if constexpr (!kHalves) return {threadIdx.x, 0, column};
  const u32 upper = threadIdx.x / kHalfLanes % 2;
  const i64 half = p.cols / 2;
  return {threadIdx.x - upper * kHalfLanes, static_cast<int>(upper) * kRowsToMake,
          column < half ? column : column - half};
}

// Where the inputs of a share's row land: the first ones where what is made of them will be.
struct Landing {
  const RowShare& share;
  int row;  // of the share
  int taken = 0;
  QUERN_DEVICE u8* next() {
    const int k = taken++;
    if (k < kMadeVectors) return made_row(share.begin + row, share.thread + k * kHalfLanes);
    const int vector = (k - kMadeVectors) * kRowsToMake + row;
    return dynamic_shared() + kShared.landing + (vector * kTileThreads + threadIdx.x) * kAccess;
  }
};
struct Copy {
  static constexpr bool kFetches = false;  // what is not copied is read when numbers are made
  Landing at;
  template <int Bytes>
  QUERN_DEVICE void operator()(const void* from, Vector<Bytes>&) {
#pragma unroll
    for (int i = 0; i < Bytes / kStep<Bytes>; ++i)
      copy_async<kStep<Bytes>>(at.next(), static_cast<const u8*>(from) + i * kStep<Bytes>);
  }
};
struct Landed {
  static constexpr bool kFetches = true;
  Landing at;
  template <int Bytes>
  QUERN_DEVICE void operator()(const void*, Vector<Bytes>& vector) {
    vector = {};
#pragma unroll
    for (int i = 0; i < Bytes / kStep<Bytes>; ++i) put_piece(vector, i, load_shared<kStep<Bytes>>(at.next()));
  }
};

QUERN_DEVICE void make_vectors(const KernelParams& p, const SourceRow& row, const RowShare& share, int number,
                               Word (&made)[2]) {
  Inputs inputs;
  Landed landed{{share, number}};
  for_inputs(p, row, share.column, inputs, landed);
  if constexpr (kHalves)
    halves_of(p, inputs, share.column, made);
  else
    made[0] = numbers_of(p, inputs, share.column);
}

template <class IsThere>
QUERN_DEVICE void make_from_copies(const KernelParams& p, const SourceRow& row, const RowShare& share,
                                   const IsThere& is_there) {
#pragma unroll
  for (int i = 0; i < kRowsToMake; ++i) {
    Inputs inputs;
    Copy copy{{share, i}};
    if (is_there(share.begin + i)) for_inputs(p, row + (share.begin + i), share.column, inputs, copy);
  }
  wait_for_copies();
#pragma unroll 2
  for (int i = 0; i < kRowsToMake; ++i) {
    Word made[2] = {};
    if (is_there(share.begin + i)) make_vectors(p, row + (share.begin + i), share, i, made);
#pragma unroll
    for (u32 k = 0; k < kMadeVectors; ++k)
      store_shared<kAccess>(made_row(share.begin + i, share.thread + k * kHalfLanes), made[k]);
  }
  __syncwarp();  // then a lane reads what the other one has made
}

// From `row` on.
template <class IsThere>
QUERN_DEVICE Patch make_rows(const KernelParams& p, const SourceRow& row, i64 column, const IsThere& is_there) {
  Patch patch = {};
  if constexpr (spec::async_copies)
    make_from_copies(p, row, share_of(p, column), is_there);
  else
    make_own(p, row, column, is_there, patch.sums);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    patch.rows[i] = load_shared<sizeof(RowWord)>(made_row(i, threadIdx.x));
    if constexpr (spec::async_copies && spec::bias_gradient) add_row(patch.sums, i, patch.rows[i]);
  }
  if constexpr (kStack == 1 && kTransposed)
    __syncthreads();  // then other threads write lines there
  else if constexpr (kHalves)
    __syncwarp();  // the next tile's copies land in rows that the other lane reads
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
