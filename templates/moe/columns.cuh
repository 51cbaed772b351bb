// Vectors of a row in a part: whole accesses, or in the ragged form columns of 16 bytes at any element-aligned address.
#ifndef QUERN_MOE_COLUMNS_CUH_
#define QUERN_MOE_COLUMNS_CUH_

#include "common/any_address.cuh"
#include "moe/rows.cuh"

namespace quern::moe {

constexpr bool kRagged = spec::ragged;
constexpr int kElementBytes = spec::element_bytes;

// A block of a ragged row is read by two lanes.
constexpr LoadHint kRaggedLoad = LoadHint::plain;

QUERN_DEVICE Readable source_bytes(const Params& p) {
  return {static_cast<const u8*>(p.source), static_cast<const u8*>(p.source_end)};
}

template <u32 kCount>
QUERN_DEVICE void read_columns(const Params& p, const Readable& bytes, bool wanted, u32 row, u32 first,
                               ColumnBits (&bits)[kCount]) {
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) {
    const u32 column = first + i * kLanes;
    bits[i] = read_column<kRaggedLoad>(wanted && column < p.vectors, vector_at(p, bytes.begin, row, column), bytes);
  }
}

// Nothing where vectors are not columns: that code is not run.
template <u32 kCount, class Vectors>
QUERN_DEVICE void values_of(const Params& p, const Readable& bytes, u32 row, u32 first,
                            const ColumnBits (&bits)[kCount], Vectors& values) {
  if constexpr (kRagged) {
#pragma unroll
    for (u32 i = 0; i < kCount; ++i)
      values[i] = value_of<kElementBytes>(bits[i], vector_at(p, bytes.begin, row, first + i * kLanes), bytes);
  }
}

// Zeros, or elements of the next row, beyond the end of the row.
template <class Vectors>
QUERN_DEVICE void load_columns(const Params& p, const Readable& bytes, u32 row, u32 first, Vectors& values) {
  ColumnBits bits[kUnroll];
  read_columns(p, bytes, true, row, first, bits);
  values_of(p, bytes, row, first, bits, values);
}

// All lanes of a group have the same row.
template <class Vectors>
QUERN_DEVICE void put_columns(const Params& p, u32 row, u32 first, const Vectors& values) {
  if constexpr (kRagged) {
    store_columns<kElementBytes, kStore, kLanes>(group_mask(), of_row(p, static_cast<u8*>(p.out), row),
                                                 static_cast<i64>(p.row_bytes), first, values);
  }
}

}  // namespace quern::moe

#endif  // QUERN_MOE_COLUMNS_CUH_
