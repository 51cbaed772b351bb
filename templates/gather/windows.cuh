// The ragged form, for any element-aligned rows: a slot is a 16-byte aligned window of out. It is read in elements of 4
// or 8 bytes; of smaller ones it is combined from two aligned reads by shifts. The ends of a row go element by element.
#ifndef QUERN_GATHER_WINDOWS_CUH_
#define QUERN_GATHER_WINDOWS_CUH_

#include "common/realign.cuh"
#include "gather/rows.cuh"

namespace quern::gather {

// A slot of the ragged form: bytes [begin, end) of a row, 16 of them unless the window crosses an end of the row.
struct Window {
  u64 row;
  i64 begin;
  i64 end;
};

QUERN_DEVICE Window window(const Params& p, const Slot& slot) {
  const i64 lead = static_cast<i64>(reinterpret_cast<u64>(out_row(p, slot.row)) & 15);
  const i64 begin = static_cast<i64>(slot.column) * 16 - lead;
  const i64 end = slot.inside && begin + 16 < p.row_bytes ? begin + 16 : p.row_bytes;
  return {slot.row, begin < 0 ? 0 : begin, slot.inside ? end : 0};
}

// Elements of 4 and 8 bytes are read as they are: 100000 rows of 333 in fp32 had 93 % of a copy's speed, with two
// aligned reads 84 to 89 % (H200).
constexpr bool kReadsElements = spec::element_bytes >= 4;

// A whole window as read, and where it goes.
struct WindowBits {
  u8* to;
  Vector<16> low;  // all of it, if it was read in elements
  Vector<16> high;
  u32 offset;  // of the window in low | high
  QUERN_DEVICE Vector<16> value() const { return kReadsElements ? low : realign(low, high, offset); }
};

QUERN_DEVICE Vector<16> read_elements(const u8* from) {
  constexpr int kBytes = spec::element_bytes;
  Vector<16> bits = {};
#pragma unroll
  for (int i = 0; i < 16 / kBytes; ++i) put_piece(bits, i, load<kBytes, kLoad>(from + i * kBytes));
  return bits;
}

// False where the two aligned reads would leave the row.
QUERN_DEVICE bool read_aligned(const Params& p, const Window& w, const SourceRow& source, WindowBits& bits) {
  const u8* const from = source.data + w.begin;
  bits.offset = static_cast<u32>(reinterpret_cast<u64>(from) & 15);
  const i64 at = w.begin - bits.offset;
  if (at < 0 || at + (bits.offset != 0 ? 32 : 16) > p.row_bytes) return false;
  bits.low = {};
  bits.high = {};
  if (source.zero) return true;
  bits.low = load<16, kLoad>(from - bits.offset);
  if (bits.offset != 0) bits.high = load<16, kLoad>(from - bits.offset + 16);
  return true;
}

// False where the window is not whole, or cannot be read.
QUERN_DEVICE bool read(const Params& p, const Window& w, WindowBits& bits) {
  if (w.end - w.begin != 16) return false;
  const SourceRow source = resolve(p, w.row);
  bits.to = out_row(p, w.row) + w.begin;
  if constexpr (!kReadsElements) return read_aligned(p, w, source, bits);
  bits.low = {};
  if (!source.zero) bits.low = read_elements(source.data + w.begin);
  return true;
}

// Four reads are in flight at once: more would take registers from the whole windows.
QUERN_DEVICE void copy_elements(const Params& p, const Window& w) {
  if (w.begin >= w.end) return;
  const SourceRow source = resolve(p, w.row);
  constexpr int kBytes = spec::element_bytes;
#pragma unroll 1
  for (i64 first = w.begin; first < w.end; first += 4 * kBytes) {
    Vector<kBytes> values[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const i64 at = first + i * kBytes;
      if (at < w.end && !source.zero) values[i] = load<kBytes, LoadHint::plain>(source.data + at);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const i64 at = first + i * kBytes;
      if (at < w.end) store<kBytes, StoreHint::plain>(out_row(p, w.row) + at, scaled(p, w.row, values[i]));
    }
  }
}

QUERN_DEVICE void gather_tile(const Params& p, const Tile<spec::unroll>& tile) {
  WindowBits bits[spec::unroll];
  u32 left = 0;
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) left |= read(p, window(p, tile[i]), bits[i]) ? 0u : 1u << i;
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if ((left >> i & 1) == 0) store<16, kStore>(bits[i].to, scaled(p, tile[i].row, bits[i].value()));
  }
#pragma unroll 1
  for (int i = 0; left != 0; ++i, left >>= 1) {
    if ((left & 1) != 0) copy_elements(p, window(p, tile[i]));
  }
}

QUERN_DEVICE void gather_rows(const Params& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots, [&](const Tile<spec::unroll>& tile) { gather_tile(p, tile); });
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_WINDOWS_CUH_
