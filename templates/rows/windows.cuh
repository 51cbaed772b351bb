// The ragged form, for any element-aligned rows: a slot is a 16-byte aligned window of out. It is read in elements of 4
// or 8 bytes; of smaller ones it is combined from two aligned reads by shifts. The ends of a row go element by element.
// `Rows` is what rows/vectors.cuh says.
#ifndef QUERN_ROWS_WINDOWS_CUH_
#define QUERN_ROWS_WINDOWS_CUH_

#include "common/realign.cuh"
#include "common/slots.cuh"
#include "rows/source.cuh"

namespace quern::rows {

// A slot of the ragged form: bytes [begin, end) of a row, 16 of them unless the window crosses an end of the row.
struct Window {
  u64 row;
  i64 begin;
  i64 end;
};

template <class Rows, class Params>
QUERN_DEVICE Window window(const Params& p, const Slot& slot) {
  if (Rows::kOutByIndex && !slot.inside) return {};
  const u8* const to = Rows::out(p, slot.row);
  const bool inside = slot.inside && (!Rows::kSkips || to != nullptr);
  const i64 lead = static_cast<i64>(reinterpret_cast<u64>(to) & 15);
  const i64 begin = static_cast<i64>(slot.column) * 16 - lead;
  const i64 end = inside && begin + 16 < p.row_bytes ? begin + 16 : p.row_bytes;
  return {slot.row, begin < 0 ? 0 : begin, inside ? end : 0};
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

QUERN_DEVICE Vector<16> read_elements(bool wanted, const SourceRow& source, i64 begin) {
  constexpr int kBytes = spec::element_bytes;
  Vector<16> bits = {};
#pragma unroll
  for (int i = 0; i < 16 / kBytes; ++i)
    put_piece(bits, i, load_if<kBytes, kLoad>(wanted, source.at(begin + i * kBytes)));
  return bits;
}

// False where the two aligned reads would leave the row.
template <class Params>
QUERN_DEVICE bool read_aligned(const Params& p, const Window& w, bool wanted, const SourceRow& source,
                               WindowBits& bits) {
  bits.offset = static_cast<u32>(reinterpret_cast<u64>(source.at(w.begin)) & 15);
  const i64 at = w.begin - bits.offset;
  const bool inside = at >= 0 && at + (bits.offset != 0 ? 32 : 16) <= p.row_bytes, reads = inside && wanted;
  bits.low = load_if<16, kLoad>(reads, source.at(at));
  bits.high = load_if<16, kLoad>(reads && bits.offset != 0, source.at(at + 16));
  return inside;
}

// False where the window is not whole, or cannot be read.
template <class Rows, class Params>
QUERN_DEVICE bool read(const Params& p, const Window& w, const SourceRow& source, WindowBits& bits) {
  const bool whole = w.end - w.begin == 16, wanted = whole && !source.zero;
  bits.to = whole ? Rows::out(p, w.row) + w.begin : nullptr;
  if constexpr (!kReadsElements) return read_aligned(p, w, wanted, source, bits) && whole;
  bits.low = read_elements(wanted, source, w.begin);
  return whole;
}

// Four reads are in flight at once: more would take registers from the whole windows.
template <class Rows, class Params>
QUERN_DEVICE void move_elements(const Params& p, const Window& w) {
  if (w.begin >= w.end) return;
  const SourceRow source = Rows::source(p, w.row, true);
  u8* const to = Rows::out(p, w.row);
  constexpr int kBytes = spec::element_bytes;
#pragma unroll 1
  for (i64 first = w.begin; first < w.end; first += 4 * kBytes) {
    Vector<kBytes> values[4] = {}, before[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const i64 at = first + i * kBytes;
      if (at < w.end && !source.zero) values[i] = load<kBytes, LoadHint::plain>(source.data + at);
      if constexpr (Rows::kAdds) {
        if (at < w.end) before[i] = load<kBytes>(to + at);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const i64 at = first + i * kBytes;
      if (at < w.end)
        store<kBytes, StoreHint::plain>(to + at, Rows::result(p, w.row, static_cast<u64>(at), values[i], before[i]));
    }
  }
}

template <class Rows, class Params>
QUERN_DEVICE void move_windows(const Params& p, const Tile<spec::unroll>& tile) {
  SourceRow rows[spec::unroll];
  WindowBits bits[spec::unroll];
  Vector<16> before[spec::unroll];
  find_rows<Rows>(p, tile, rows);
  u32 left = 0;
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const bool done = read<Rows>(p, window<Rows>(p, tile[i]), rows[i], bits[i]);
    left |= done ? 0u : 1u << i;
    if constexpr (Rows::kAdds) {
      if (done) before[i] = load<16>(bits[i].to);
    }
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if ((left >> i & 1) != 0) continue;
    const Window w = window<Rows>(p, tile[i]);
    store<16, kStore>(bits[i].to, Rows::result(p, w.row, static_cast<u64>(w.begin), bits[i].value(), before[i]));
  }
#pragma unroll 1
  for (int i = 0; left != 0; ++i, left >>= 1) {
    if ((left & 1) != 0) move_elements<Rows>(p, window<Rows>(p, tile[i]));
  }
}

template <class Rows, class Params>
QUERN_DEVICE void move_rows(const Params& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots,
                                            [&](const Tile<spec::unroll>& tile) { move_windows<Rows>(p, tile); });
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_WINDOWS_CUH_
