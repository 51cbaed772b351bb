// 16 bytes at any byte of a row of source, from two aligned reads. They may cover bytes outside of the row, but none
// that may not be read.
#ifndef QUERN_ROWS_BITS_CUH_
#define QUERN_ROWS_BITS_CUH_

#include "common/realign.cuh"
#include "rows/source.cuh"

namespace quern::rows {

// The bytes that may be read: all of source if its rows are known and have no gaps, else the row.
struct Readable {
  const u8* begin;
  const u8* end;
};

template <class Params>
QUERN_DEVICE Readable readable(const Params& p, const u8* row) {
  if (p.source_end != nullptr) return {static_cast<const u8*>(p.source), static_cast<const u8*>(p.source_end)};
  return {row, row + p.row_bytes};
}

// The 16 bytes at an aligned address, element by element; 0 where they may not be read.
QUERN_DEVICE Vector<16> read_block(const u8* from, const Readable& bytes) {
  Vector<16> block = {};
  constexpr int kBytes = spec::element_bytes;
#pragma unroll
  for (int at = 0; at < 16; at += kBytes) {
    if (from + at >= bytes.begin && from + at + kBytes <= bytes.end)
      put_piece(block, at / kBytes, load<kBytes, LoadHint::plain>(from + at));
  }
  return block;
}

// The 16 bytes at an address as read: two blocks, and where in them it is.
struct Bits {
  Vector<16> low;
  Vector<16> high;
  u32 offset;
  QUERN_DEVICE Vector<16> value() const { return realign(low, high, offset); }
};

// From byte `column` of a row on.
template <class Params>
QUERN_DEVICE Bits read_bits(const Params& p, const u8* row, i64 column) {
  Bits bits = {};
  const u8* const at = row + column;
  bits.offset = static_cast<u32>(reinterpret_cast<u64>(at) & 15);
  const u8* const from = at - bits.offset;
  const Readable bytes = readable(p, row);
  if (from >= bytes.begin && from + 32 <= bytes.end) {
    bits.low = load<16, kLoad>(from);
    bits.high = load<16, kLoad>(from + 16);
  } else {
    bits.low = read_block(from, bytes);
    bits.high = read_block(from + 16, bytes);
  }
  return bits;
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_BITS_CUH_
