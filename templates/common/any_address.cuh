// Rows at any element-aligned address, in columns of 16 bytes of which adjacent lanes have adjacent ones. A column is
// read as two aligned blocks. It is written as parts of two aligned windows; a lane gets the rest of its window from
// the next lane.
#ifndef QUERN_COMMON_ANY_ADDRESS_CUH_
#define QUERN_COMMON_ANY_ADDRESS_CUH_

#include "common/realign.cuh"

namespace quern::common {

// The bytes that may be read: all of a matrix, so that the blocks at an end of a row inside of it are read whole.
struct Readable {
  const u8* begin;
  const u8* end;
};

// A column as read.
struct ColumnBits {
  Vector<16> low;
  Vector<16> high;
  u32 offset;  // of the column in both
  bool cut;    // a block is not all readable: neither was read
};

// Zeros where it is not wanted. Without a branch, so that several columns are in flight at once.
template <LoadHint H>
QUERN_DEVICE ColumnBits read_column(bool wanted, const u8* at, const Readable& bytes) {
  ColumnBits bits;
  bits.offset = static_cast<u32>(reinterpret_cast<u64>(at)) & 15u;
  const u64 from = reinterpret_cast<u64>(at) - bits.offset;
  const bool two = bits.offset != 0;
  const bool whole =
      from >= reinterpret_cast<u64>(bytes.begin) && from + (two ? 32 : 16) <= reinterpret_cast<u64>(bytes.end);
  bits.cut = wanted && !whole;
  bits.low = load_if<16, H>(wanted && whole, reinterpret_cast<const u8*>(from));
  bits.high = load_if<16, H>(wanted && whole && two, reinterpret_cast<const u8*>(from + 16));
  return bits;
}

// Without the first element, and with another one after the last.
template <int ElementBytes>
QUERN_DEVICE Vector<16> next_elements(const Vector<16>& v, const Vector<ElementBytes>& last) {
  if constexpr (ElementBytes == 8) return {{v.w[2], v.w[3], last.w[0], last.w[1]}};
  if constexpr (ElementBytes == 4) return {{v.w[1], v.w[2], v.w[3], last.w[0]}};
  if constexpr (ElementBytes < 4) {
    constexpr u32 kBits = 8 * ElementBytes;
    return {{funnel_right(v.w[0], v.w[1], kBits), funnel_right(v.w[1], v.w[2], kBits),
             funnel_right(v.w[2], v.w[3], kBits), funnel_right(v.w[3], last.w[0], kBits)}};
  }
}

// Its 16 bytes; 0 where they may not be read. `at`: as it was read.
template <int ElementBytes>
QUERN_DEVICE Vector<16> value_of(const ColumnBits& bits, const u8* at, const Readable& bytes) {
  if (!bits.cut) return realign(bits.low, bits.high, bits.offset);
  Vector<16> column = {};
#pragma unroll 1
  for (u32 i = 0; i < 16; i += ElementBytes) {
    const u64 element = reinterpret_cast<u64>(at) + i;
    const bool inside = element >= reinterpret_cast<u64>(bytes.begin) && element < reinterpret_cast<u64>(bytes.end);
    column = next_elements<ElementBytes>(column, load_if<ElementBytes>(inside, reinterpret_cast<const u8*>(element)));
  }
  return column;
}

// The elements of a vector, stored one by one from `to` on, until `bytes` are. Few lanes do this: the loop is short
// code, and no element has a register of its own.
template <int ElementBytes>
QUERN_DEVICE void store_elements(u8* to, int bytes, Vector<16> vector) {
#pragma unroll 1
  for (int at = 0; at < bytes; at += ElementBytes) {
    store<ElementBytes>(to + at, piece_of<ElementBytes>(vector, 0));
    vector = next_elements<ElementBytes>(vector, Vector<ElementBytes>{});
  }
}

// Stores columns of a row: all `Lanes` lanes of `mask` have the same row, and of its adjacent columns each Lanes-th one
// from `first` on. What is beyond the end of the row is ignored.
template <int ElementBytes, StoreHint H, u32 Lanes, u32 Count>
QUERN_DEVICE void store_columns(u32 mask, u8* row, i64 row_bytes, u32 first, const Vector<16> (&columns)[Count]) {
  const u32 lane = threadIdx.x % Lanes, next = (lane + 1) % Lanes;
  const int shift = static_cast<int>((0u - static_cast<u32>(reinterpret_cast<u64>(row))) & 15u);
  QUERN_UNROLL for (u32 i = 0; i < Count; ++i) {
    Vector<16> after;
    QUERN_UNROLL for (int w = 0; w < 4; ++w) {
      const u32 given = i + 1 < Count && lane == 0 ? columns[i + 1 < Count ? i + 1 : i].w[w] : columns[i].w[w];
      after.w[w] = __shfl_sync(mask, given, static_cast<int>(next), static_cast<int>(Lanes));
    }
    const i64 begin = static_cast<i64>(first + i * Lanes) * 16, rest = row_bytes - begin;
    u8* const to = reinterpret_cast<u8*>(reinterpret_cast<u64>(row) + static_cast<u64>(begin));
    const int left = rest > 32 ? 32 : static_cast<int>(rest);  // of the row, from the column on
    // The window begins `shift` bytes after the column. No lane has the column after the last one.
    const int known = i + 1 == Count && next == 0 ? 16 - shift : 16;
    const int bytes = left - shift < known ? left - shift : known;
    const Vector<16> window = realign(columns[i], after, static_cast<u32>(shift));
    if (bytes == 16) {
      store<16, H>(to + shift, window);
    } else {
      store_elements<ElementBytes>(to + shift, bytes, window);
    }
    if (i == 0 && lane == 0) store_elements<ElementBytes>(to, left < shift ? left : shift, columns[0]);
  }
}

}  // namespace quern::common

#endif  // QUERN_COMMON_ANY_ADDRESS_CUH_
