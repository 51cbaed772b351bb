// The ragged form for short rows without gaps in out: a slot is a 16-byte aligned window of out, which may hold the end
// of a row and the start of the next. Two aligned loads of source are combined by funnel shifts. They may cover bytes
// outside the row, but none outside of source. A thread issues all its loads before its first store.
#ifndef QUERN_GATHER_PACKED_CUH_
#define QUERN_GATHER_PACKED_CUH_

#include "gather/rows.cuh"
#include "rows/bits.cuh"

namespace quern::gather {

// Its byte 0 is byte `column` of the row; bytes begin .. end - 1 are out's, all but in its first and last window. The
// first one may begin in row -1, before out.
struct PackedWindow {
  i64 row;
  i64 column;
  u8* to;
  int begin;
  int end;
};

// Positions are counted from a row before out on. The block's first one is divided in 64 bits, with the same result in
// all threads; the offset of a thread is small.
QUERN_DEVICE PackedWindow window(const Params& p, const Tile<spec::unroll>& tile, int i) {
  const u64 index = tile[i].index;
  const u32 lead = static_cast<u32>(reinterpret_cast<u64>(p.out)) & 15u, row_bytes = static_cast<u32>(p.row_bytes);
  const u64 first = tile.first() * 16 + row_bytes - lead;
  const u64 row = divide(first, p.slots.by_row);
  const u32 column = static_cast<u32>(first - row * row_bytes) + static_cast<u32>(index - tile.first()) * 16;
  const u32 later = divide32(column, p.slots.by_row);
  const i64 at = static_cast<i64>(index * 16) - lead, left = p.out_bytes - at;
  return {static_cast<i64>(row + later) - 1, column - later * row_bytes, static_cast<u8*>(p.out) + at,
          at < 0 ? static_cast<int>(lead) : 0, left < 16 ? left < 0 ? 0 : static_cast<int>(left) : 16};
}

// The window's first byte that belongs to the next row. A row has at least 16 bytes less an element, so there is no
// third one.
QUERN_DEVICE i64 next_row_at(const Params& p, const PackedWindow& w) { return p.row_bytes - w.column; }
QUERN_DEVICE bool has_next_row(const Params& p, const PackedWindow& w) { return next_row_at(p, w) < w.end; }

// The 16 bytes from byte `column` of a row on.
QUERN_DEVICE Bits read_at(const Params& p, const SourceRow& row, i64 column) {
  return row.zero ? Bits{} : read_bits(p, row.data, column);
}

// The first `split` bytes of one vector and the others of the other.
QUERN_DEVICE Vector<16> joined(const Vector<16>& first, const Vector<16>& second, int split) {
  Vector<16> both;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int bits = (split - 4 * i) * 8;
    const u32 mask = bits <= 0 ? 0u : bits >= 32 ? ~0u : (1u << bits) - 1;
    both.w[i] = (first.w[i] & mask) | (second.w[i] & ~mask);
  }
  return both;
}

// Of a window's row, and of the next where the window holds a part of it.
template <class T>
struct Both {
  T first;
  T second;
};

QUERN_DEVICE Both<SourceRow> source_rows(const Params& p, const PackedWindow& w) {
  Both<SourceRow> rows = {};
  if (w.begin >= w.end) return rows;
  rows.first.zero = true;
  if (w.row >= 0) rows.first = resolve(p, static_cast<u64>(w.row));
  if (has_next_row(p, w)) rows.second = resolve(p, static_cast<u64>(w.row + 1));
  return rows;
}

QUERN_DEVICE Both<Bits> read(const Params& p, const PackedWindow& w, const Both<SourceRow>& rows) {
  Both<Bits> bits = {};
  if (w.begin >= w.end) return bits;
  bits.first = read_at(p, rows.first, w.column);
  if (has_next_row(p, w)) bits.second = read_at(p, rows.second, -next_row_at(p, w));
  return bits;
}

QUERN_DEVICE void write(const Params& p, const PackedWindow& w, const Both<Bits>& bits) {
  if (w.begin >= w.end) return;
  Vector<16> value = {};
  if (w.row >= 0) value = scaled(p, static_cast<u64>(w.row), bits.first.value());
  if (has_next_row(p, w))
    value =
        joined(value, scaled(p, static_cast<u64>(w.row + 1), bits.second.value()), static_cast<int>(next_row_at(p, w)));
  if (w.begin == 0 && w.end == 16) return store<16, kStore>(w.to, value);
  constexpr int kBytes = spec::element_bytes;
#pragma unroll
  for (int at = 0; at < 16; at += kBytes) {
    if (at >= w.begin && at < w.end) store<kBytes, StoreHint::plain>(w.to + at, piece_of<kBytes>(value, at / kBytes));
  }
}

QUERN_DEVICE void gather_tile(const Params& p, const Tile<spec::unroll>& tile) {
  Both<SourceRow> rows[spec::unroll];
  Both<Bits> bits[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) rows[i] = source_rows(p, window(p, tile, i));
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) bits[i] = read(p, window(p, tile, i), rows[i]);
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) write(p, window(p, tile, i), bits[i]);
}

template <class>
QUERN_DEVICE void move_rows(const Params& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots, [&](const Tile<spec::unroll>& tile) { gather_tile(p, tile); });
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_PACKED_CUH_
