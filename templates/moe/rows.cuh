// The work of a thread: vectors of a part of a token's row, and the rows of the token's routes.
#ifndef QUERN_MOE_ROWS_CUH_
#define QUERN_MOE_ROWS_CUH_

#include "common/vector.cuh"
#include "moe/params.cuh"
#include "spec.cuh"

namespace quern::moe {

using namespace common;

constexpr int kVector = spec::vector;  // bytes
constexpr u32 kLanes = spec::lanes, kUnroll = spec::unroll;
constexpr u32 kTopk = spec::topk, kBatch = spec::batch;
constexpr u32 kNoRow = 0xffffffffu;

constexpr LoadHint kLoad = spec::load_once ? LoadHint::once : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

QUERN_DEVICE u32 lane() { return threadIdx.x % kLanes; }

// The lanes of this thread's group.
QUERN_DEVICE u32 group_mask() {
  if constexpr (kLanes == 32) return 0xffffffffu;
  return ((1u << (kLanes % 32)) - 1) << (threadIdx.x % 32 / kLanes * kLanes);
}

// The number of this thread's group of kLanes threads among the blocks from `first_block` on.
QUERN_DEVICE u64 group_from(u32 first_block) {
  return static_cast<u64>(blockIdx.x - first_block) * (blockDim.x / kLanes) + threadIdx.x / kLanes;
}

// A part of a row is kUnroll vectors for each thread of a group. Parts are numbered through all rows.
struct Part {
  u32 row;
  u32 of_row;
  u32 column;  // of this thread's first vector; the others are kLanes apart

  QUERN_DEVICE u32 column_of(u32 i) const { return column + i * kLanes; }
};

QUERN_DEVICE Part part_at(const Params& p, u64 number) {
  const u32 row = static_cast<u32>(divide(number, p.by_parts));
  const u32 of_row = static_cast<u32>(number) - row * p.parts;
  return {row, of_row, of_row * (kLanes * kUnroll) + lane()};
}

// The same place of another row, from that of row 0: where rows are in a loop, one instruction for each.
template <class Byte>
QUERN_DEVICE Byte* of_row(const Params& p, Byte* of_row_0, u32 row) {
  return of_row_0 + static_cast<u64>(row) * p.row_bytes;
}
QUERN_DEVICE const u8* vector_at(const Params& p, const void* rows, u32 row, u32 column) {
  return of_row(p, static_cast<const u8*>(rows) + static_cast<u64>(column) * kVector, row);
}
QUERN_DEVICE u8* vector_at(const Params& p, void* rows, u32 row, u32 column) {
  return of_row(p, static_cast<u8*>(rows) + static_cast<u64>(column) * kVector, row);
}

// Where the elements go that are made of a vector; `bytes` of them.
QUERN_DEVICE u8* made_at(const Params& p, u32 row, u32 column, int bytes) {
  u8* const of_row_0 = static_cast<u8*>(p.out) + static_cast<u64>(column) * static_cast<u32>(bytes);
  return of_row_0 + static_cast<u64>(row) * p.out_row_bytes;
}

// ---- The routes of a token, kBatch at a time

// The greatest power of two that divides a number, up to `most`.
QUERN_DEVICE constexpr u32 greatest_power(u32 number, u32 most) {
  while (number % most != 0) most /= 2;
  return most;
}

// Loads entries first, first + 1, … of a token's `kTopk`: each thread of a group reads them all, in the widest accesses
// that fit. Entries beyond the last keep their value.
template <int Bytes>
QUERN_DEVICE void load_entries(const void* entries, u64 token, u32 first, Vector<Bytes> (&out)[kBatch]) {
  constexpr u32 kWidest =
      kVector == 16 && !spec::ragged ? greatest_power(kTopk * Bytes, greatest_power(kBatch * Bytes, 16)) : Bytes;
  constexpr u32 kPerAccess = kWidest / Bytes;
  const u8* const from = static_cast<const u8*>(entries) + (token * kTopk + first) * Bytes;
#pragma unroll
  for (u32 i = 0; i < kBatch; i += kPerAccess) {
    if (first + i >= kTopk) continue;
    const auto several = load<static_cast<int>(kWidest), LoadHint::keep>(from + i * Bytes);
#pragma unroll
    for (u32 j = 0; j < kPerAccess; ++j) out[i + j] = piece_of<Bytes>(several, static_cast<int>(j));
  }
}

// The map may be of another matrix: a row that this one does not have, such as kNoRow, is none.
QUERN_DEVICE bool has_row(const Params& p, u32 row) { return row < p.capacity; }

// The row of each route; kNoRow or any other that has_row denies where it has none.
struct Rows {
  u32 of[kBatch];
};

QUERN_DEVICE Rows load_rows(const Params& p, u64 token, u32 first) {
  Vector<4> entries[kBatch];
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) entries[i].w[0] = kNoRow;
  load_entries<4>(p.token_rows, token, first, entries);
  Rows rows;
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) rows.of[i] = entries[i].w[0];
  return rows;
}

// What the row of each route is multiplied by.
struct Factors {
  float of[kBatch] = {};
};

// The expert of each route.
struct Experts {
  u32 of[kBatch];
};

QUERN_DEVICE Experts load_experts(const Params& p, u64 token, u32 first) {
  Vector<4> entries[kBatch] = {};
  load_entries<4>(p.token_experts, token, first, entries);
  Experts experts;
#pragma unroll
  for (u32 i = 0; i < kBatch; ++i) experts.of[i] = entries[i].w[0];
  return experts;
}

}  // namespace quern::moe

#endif  // QUERN_MOE_ROWS_CUH_
