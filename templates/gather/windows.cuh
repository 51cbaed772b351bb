// The ragged form, for any element-aligned rows: a slot is a 16-byte aligned window of out. Its bytes are combined from
// two aligned reads of source by shifts. The ends of a row go element by element.
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

// The two aligned reads that hold a whole window, where in them it starts, and where it goes.
struct Halves {
  u8* to;
  Vector<16> low;
  Vector<16> high;
  u32 offset;
};

// False where the window is not whole or its reads would leave the source row.
QUERN_DEVICE bool read_halves(const Params& p, const Window& w, Halves& h) {
  if (w.end - w.begin != 16) return false;
  const SourceRow source = resolve(p, w.row);
  const u8* const from = source.data + w.begin;
  h.to = out_row(p, w.row) + w.begin;
  h.offset = static_cast<u32>(reinterpret_cast<u64>(from) & 15);
  const i64 at = w.begin - h.offset;
  if (at < 0 || at + (h.offset != 0 ? 32 : 16) > p.row_bytes) return false;
  h.low = {};
  h.high = {};
  if (source.zero) return true;
  h.low = load<16, kLoad>(from - h.offset);
  if (h.offset != 0) h.high = load<16, kLoad>(from - h.offset + 16);
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
  Halves halves[spec::unroll];
  u32 left = 0;
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) left |= read_halves(p, window(p, tile[i]), halves[i]) ? 0u : 1u << i;
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if ((left >> i & 1) != 0) continue;
    const Vector<16> value = realign(halves[i].low, halves[i].high, halves[i].offset);
    store<16, kStore>(halves[i].to, scaled(p, tile[i].row, value));
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
