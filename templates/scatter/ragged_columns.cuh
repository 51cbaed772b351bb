// The columns of a row that a thread of the backward pass reads and writes: vectors, or in the ragged form 16 bytes at
// any element-aligned address. They are numbered from the beginning of the row on, so those of all rows are added up.
#ifndef QUERN_SCATTER_RAGGED_COLUMNS_CUH_
#define QUERN_SCATTER_RAGGED_COLUMNS_CUH_

#include "common/any_address.cuh"
#include "scatter/lanes.cuh"

namespace quern::scatter {

using Columns = Vector<kVector>[kUnroll];

// Rows of source, or of the gradient of out: all of their bytes, if those are known and have no gaps.
struct AnyRows {
  const void* begin;
  const void* end;

  QUERN_DEVICE Readable readable(const Params& p, const u8* row) const {
    if (end != nullptr) return {static_cast<const u8*>(begin), static_cast<const u8*>(end)};
    return {row, row + p.row_bytes};
  }
};
QUERN_DEVICE AnyRows rows_of_source(const Params& p) { return {p.source, p.source_end}; }
QUERN_DEVICE AnyRows rows_of_gradient(const Params& p) { return {p.gradient, p.gradient_end}; }

QUERN_DEVICE i64 byte_of(u32 column) { return static_cast<i64>(column) * kVector; }

// As read.
struct RaggedColumns {
  ColumnBits bits[kUnroll];

  // Those from `first` on, kLanes apart.
  QUERN_DEVICE void read(const Params& p, const AnyRows& rows, const u8* row, u32 first, bool wanted) {
#pragma unroll
    for (u32 u = 0; u < kUnroll; ++u) {
      const i64 byte = byte_of(first + u * kLanes);
      bits[u] = read_column<LoadHint::plain>(wanted && byte < p.row_bytes, row + byte, rows.readable(p, row));
    }
  }
  // Zeros, or bits of the next row, beyond the end of the row. Nothing where vectors are not columns: that is not run.
  template <class Values>
  QUERN_DEVICE void put_values(const Params& p, const AnyRows& rows, const u8* row, u32 first, Values& values) const {
    if constexpr (spec::ragged) {
#pragma unroll
      for (u32 u = 0; u < kUnroll; ++u) {
        const u8* const at = row + byte_of(first + u * kLanes);
        values[u] = value_of<spec::element_bytes>(bits[u], at, rows.readable(p, row));
      }
    }
  }
};

// All lanes of a group write the same row.
template <class Values>
QUERN_DEVICE void put_ragged_columns(const Params& p, u8* row, u32 first, const Values& values) {
  if constexpr (spec::ragged)
    common::store_columns<spec::element_bytes, kStore, kLanes>(mask_of_group(), row, p.row_bytes, first, values);
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_RAGGED_COLUMNS_CUH_
