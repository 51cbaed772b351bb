// The columns of a row that a thread works on: one access each.
#ifndef QUERN_SCATTER_COLUMNS_CUH_
#define QUERN_SCATTER_COLUMNS_CUH_

#include "rows/bits.cuh"
#include "scatter/lanes.cuh"

namespace quern::scatter {

struct Part {
  u32 number;
  QUERN_DEVICE u32 column(u32 i) const { return (number * kUnroll + i) * kLanes + lane() % kLanes; }
};

// A row of out. Its columns begin at multiples of the access: in the ragged form the first one may begin before it.
struct OutRow {
  u8* data;
  QUERN_DEVICE i64 byte(u32 column) const {
    const i64 lead = spec::ragged ? static_cast<i64>(reinterpret_cast<u64>(data) & 15) : 0;
    return static_cast<i64>(column) * kVector - lead;
  }
};

// A column as read.
struct WholeColumn {
  Vector<kVector> vector;
  QUERN_DEVICE Vector<kVector> value() const { return vector; }
};

template <bool Ragged>
struct ColumnOf {
  using Type = WholeColumn;
};
template <>
struct ColumnOf<true> {
  using Type = Bits;
};
using Column = ColumnOf<spec::ragged>::Type;

QUERN_DEVICE void read(const Params&, const u8* row, i64 byte, WholeColumn& column) {
  column.vector = load<kVector, kLoad>(row + byte);
}
QUERN_DEVICE void read(const Params& p, const u8* row, i64 byte, Bits& column) { column = read_bits(p, row, byte); }

QUERN_DEVICE bool is_whole(const Params& p, i64 byte) {
  return !spec::ragged || (byte >= 0 && byte + kVector <= p.row_bytes);
}

// Calls body(i, byte) for the elements of a column that are in the row.
template <class Body>
QUERN_DEVICE void for_elements(const Params& p, i64 byte, const Body& body) {
  constexpr int kBytes = spec::element_bytes;
#pragma unroll
  for (int i = 0; i * kBytes < kVector; ++i) {
    const i64 at = byte + i * kBytes;
    if (at >= 0 && at < p.row_bytes) body(i, at);
  }
}

QUERN_DEVICE Vector<kVector> old_column(const Params& p, const OutRow& out, i64 byte) {
  if (is_whole(p, byte)) return load<kVector>(out.data + byte);
  Vector<kVector> old = {};
  if constexpr (spec::ragged) {
    for_elements(p, byte, [&](int i, i64 at) { put_piece(old, i, load<spec::element_bytes>(out.data + at)); });
  }
  return old;
}

QUERN_DEVICE void write(const Params& p, const OutRow& out, i64 byte, const Vector<kVector>& value) {
  if (is_whole(p, byte)) return store<kVector, kStore>(out.data + byte, value);
  if constexpr (spec::ragged) {
    for_elements(p, byte, [&](int i, i64 at) {
      store<spec::element_bytes>(out.data + at, piece_of<spec::element_bytes>(value, i));
    });
  }
}

}  // namespace quern::scatter

#endif  // QUERN_SCATTER_COLUMNS_CUH_
