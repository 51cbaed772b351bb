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
  int column;
  u8* to;
  int begin;
  int end;
};

// Bytes are counted from a row before the part's first on: below 2^31, so that a division of 32 bits is enough.
QUERN_DEVICE PackedWindow window(const Params& p, const Slot& slot) {
  const u32 lead = static_cast<u32>(reinterpret_cast<u64>(p.out)) & 15u, row_bytes = static_cast<u32>(p.row_bytes);
  const u32 byte = slot.column * 16 + row_bytes - lead, later = divide32(byte, p.slots.by_row);
  const i64 row = static_cast<i64>(blockIdx.y) * p.slots.rows_of_part + later - 1;
  const bool is_first = blockIdx.y == 0 && slot.column == 0,
             is_last = blockIdx.y == p.slots.last_part && slot.column + 1 == p.slots.of_last;
  return {row, static_cast<int>(byte - later * row_bytes), static_cast<u8*>(p.out) + slot.index * 16 - lead,
          is_first ? static_cast<int>(lead) : 0,
          !slot.inside ? 0
          : is_last    ? p.end_of_last
                       : 16};
}

// The window's first byte that belongs to the next row. A row has at least 16 bytes less an element, so there is no
// third one.
QUERN_DEVICE int next_row_at(const Params& p, const PackedWindow& w) {
  return static_cast<int>(p.row_bytes) - w.column;
}
QUERN_DEVICE bool has_row(const PackedWindow& w) { return w.end != 0 && w.row >= 0; }
QUERN_DEVICE bool has_next_row(const Params& p, const PackedWindow& w) { return next_row_at(p, w) < w.end; }

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

// No index waits for a branch.
QUERN_DEVICE Both<SourceRow> source_rows(const Params& p, const PackedWindow& w) {
  return {resolve(p, static_cast<u64>(w.row < 0 ? 0 : w.row), has_row(w)),
          resolve(p, static_cast<u64>(w.row + 1), has_next_row(p, w))};
}

// 16 bytes of a row, from any byte on, of which some are wanted: the aligned blocks of 16 bytes that hold these.
struct Blocks {
  const u8* low;
  u32 offset;  // of the 16 bytes, in the low block
  bool wants_low;
  bool wants_high;
  bool readable;  // all bytes of those blocks
};

// Of the 16 bytes from byte `column` of the row on, `first` .. `end` - 1 are wanted. One comparison is enough for a row
// that has 32 readable bytes before and after it.
QUERN_DEVICE Blocks blocks_of(const Params& p, const SourceRow& row, int column, int first, int end) {
  const u64 at = reinterpret_cast<u64>(row.at(column));
  const u32 offset = static_cast<u32>(at & 15);
  Blocks blocks = {reinterpret_cast<const u8*>(at - offset), offset, !row.zero && first + offset < 16,
                   !row.zero && end + offset > 16, true};
  if (static_cast<u64>(row.data - static_cast<const u8*>(p.source)) - 32 < p.inner_bytes) return blocks;
  const Readable bytes = readable(p, row.data);
  blocks.readable = blocks.low + (blocks.wants_low ? 0 : 16) >= bytes.begin &&
                    blocks.low + (blocks.wants_high ? 32 : 16) <= bytes.end;
  return blocks;
}

QUERN_DEVICE Bits load_blocks(const Blocks& blocks) {
  return {load_if<16, kLoad>(blocks.readable && blocks.wants_low, blocks.low),
          load_if<16, kLoad>(blocks.readable && blocks.wants_high, blocks.low + 16), blocks.offset};
}

// At the ends of source, or of rows with gaps.
QUERN_DEVICE void read_elements(const Params& p, const SourceRow& row, const Blocks& blocks, Bits& bits) {
  if (blocks.readable || row.zero) return;
  bits.low = read_block(blocks.low, readable(p, row.data));
  bits.high = read_block(blocks.low + 16, readable(p, row.data));
}

QUERN_DEVICE Both<Bits> read(const Params& p, const PackedWindow& w, const Both<SourceRow>& rows) {
  const int next = next_row_at(p, w);
  const Blocks first = blocks_of(p, rows.first, w.column, w.begin, next < w.end ? next : w.end),
               second = blocks_of(p, rows.second, -next, next, w.end);
  Both<Bits> bits = {load_blocks(first), load_blocks(second)};
  read_elements(p, rows.first, first, bits.first);
  read_elements(p, rows.second, second, bits.second);
  return bits;
}

QUERN_DEVICE void write(const Params& p, const PackedWindow& w, const Both<Bits>& bits) {
  if (w.end == 0) return;
  Vector<16> value = {};
  if (w.row >= 0) value = scaled(p, static_cast<u64>(w.row), bits.first.value());
  if (has_next_row(p, w))
    value = joined(value, scaled(p, static_cast<u64>(w.row + 1), bits.second.value()), next_row_at(p, w));
  if (w.begin == 0 && w.end == 16) return store<16, kStore>(w.to, value);
  constexpr int kBytes = spec::element_bytes;
#pragma unroll
  for (int at = 0; at < 16; at += kBytes) {
    if (at >= w.begin && at < w.end) store<kBytes, StoreHint::plain>(w.to + at, piece_of<kBytes>(value, at / kBytes));
  }
}

QUERN_DEVICE void gather_tile(const Params& p, const Tile<spec::unroll>& tile) {
  PackedWindow windows[spec::unroll];
  Both<SourceRow> rows[spec::unroll];
  Both<Bits> bits[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    windows[i] = window(p, tile[i]);
    rows[i] = source_rows(p, windows[i]);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) bits[i] = read(p, windows[i], rows[i]);
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) write(p, windows[i], bits[i]);
}

template <class>
QUERN_DEVICE void move_rows(const Params& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots, [&](const Tile<spec::unroll>& tile) { gather_tile(p, tile); });
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_PACKED_CUH_
