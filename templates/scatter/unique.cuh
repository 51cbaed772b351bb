// Rows whose indices are all different, and zeros in the rows of out without one, in one launch and without a sort. All
// blocks of the grid are co-resident. First they write for each row the position whose index names it, of several the
// last. After a barrier of the grid each row of out is read from its position, or cleared, in the order of memory.
//
// Several groups of lanes share a row where rows are few. Each has a word for the row of its own, which it clears when
// it has read it: so the workspace is zeros again without another barrier.
#ifndef QUERN_SCATTER_UNIQUE_CUH_
#define QUERN_SCATTER_UNIQUE_CUH_

#include "common/sync.cuh"
#include "scatter/columns.cuh"

// Of the largest size, on a multiprocessor: a bound of the kernel.
#define QUERN_SCATTER_RESIDENT_BLOCKS quern::spec::resident_blocks

namespace quern::scatter {

// An index outside of out is skipped in each mode: a comparison for each is little beside a row.
QUERN_DEVICE void name_rows(const Params& p) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < p.count; i += step) {
    const i64 row = index_at(p, static_cast<u64>(i));
    if (row < 0 || row >= p.rows) continue;
    u32* const words = p.named.positions + row * p.named.groups;
#pragma unroll 1
    for (u32 k = 0; k < p.named.groups; ++k) atomicMax(words + k, static_cast<u32>(i) + 1);
  }
}

// By the last block that has passed the barrier.
QUERN_DEVICE void clear_barrier(const Params& p) {
  if (gridDim.x == 1 || threadIdx.x != 0 || add_relaxed(true, p.named.ended, 1) + 1 != gridDim.x) return;
  store_relaxed(p.named.ended, 0);
  store_relaxed(p.named.barrier, 0);
}

// `name`: the position plus 1, or 0 where no index names the row.
QUERN_DEVICE void put_part(const Params& p, i64 row, u64 outer, u32 name, const Part& part) {
  const u64 position = static_cast<u64>(name) - 1;
  const u8* const from = source_row(p, outer * static_cast<u64>(p.count) + position);
  const OutRow out = {out_row(p, row + static_cast<i64>(outer) * p.rows)};
  Column columns[kUnroll] = {};
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const i64 byte = out.byte(part.column(i));
    if (name != 0 && byte < p.row_bytes) read(p, from, byte, columns[i]);
  }
#pragma unroll
  for (u32 i = 0; i < kUnroll; ++i) {
    const i64 byte = out.byte(part.column(i));
    if (byte >= p.row_bytes) continue;
    Vector<kVector> value = columns[i].value();
    if (spec::adds && name != 0) value = stored(p, position, static_cast<u64>(byte), value, Vector<kVector>{});
    write(p, out, byte, value);
  }
}

// Of one matrix: a number of 32 bits.
template <bool Several>
struct PieceOf {
  using Type = u32;
};
template <>
struct PieceOf<true> {
  using Type = u64;
};
using Piece = PieceOf<spec::outer>::Type;

QUERN_DEVICE void put_row(const Params& p, u64 number, u32 name) {
  const u64 row = divide(number, p.named.by_groups);
  const Piece pieces = static_cast<Piece>(p.named.pieces);
#pragma unroll 1
  for (Piece piece = static_cast<Piece>(number - row * p.named.groups); piece < pieces; piece += p.named.groups) {
    const u64 outer = spec::outer ? divide(piece, p.by_parts) : 0;
    put_part(p, static_cast<i64>(row), outer, name, {static_cast<u32>(piece - outer * p.parts)});
  }
}

// All lanes of a group read its word before one of them clears it.
QUERN_DEVICE u32 take_name(const Params& p, u64 number) {
  if (number >= p.named.all) return 0;
  u32* const word = p.named.positions + number;
  const u32 name = load<4>(word).w[0];
  __syncwarp(mask_of_group());
  if (lane() % kLanes == 0) store<4>(word, Vector<4>{});
  return name;
}

// The next row's word is on its way while a row is moved.
QUERN_DEVICE void scatter_rows(const Params& p) {
  name_rows(p);
  grid_barrier(p.named.barrier);
  clear_barrier(p);
  const u32 groups = blockDim.x / kLanes;
  const u64 step = static_cast<u64>(gridDim.x) * groups;
  u64 number = static_cast<u64>(blockIdx.x) * groups + threadIdx.x / kLanes;
  u32 next = take_name(p, number);
#pragma unroll 1
  for (; number < p.named.all; number += step) {
    const u32 name = next;
    next = take_name(p, number + step);
    put_row(p, number, name);
  }
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_UNIQUE_CUH_
