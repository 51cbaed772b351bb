// Plain scales to blocked ones and back. A thread has a 16-byte unit of an atom: 4 blocks each of lines 32 apart.
#ifndef QUERN_MXFP8_RELAYOUT_CUH_
#define QUERN_MXFP8_RELAYOUT_CUH_

#include "common/slots.cuh"
#include "mxfp8/scale_places.cuh"
#include "spec.cuh"

namespace quern::mxfp8 {

using KernelParams = RelayoutParams;
using Unit = Vector<16>;

constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;
constexpr int kTogether = spec::together;  // blocks of a line that are read or written at once: 4 or 1

struct Place {
  u64 expert;
  i64 line;   // the first; the others are 32, 64 and 96 lines on
  i64 block;  // the first of 4
};

QUERN_DEVICE Place place(const KernelParams& p, const Slot& slot) {
  const u64 expert = divide(slot.row, p.by_atom_rows);
  const i64 atoms = static_cast<i64>(slot.row - expert * p.atom_rows);
  return {expert, atoms * 128 + slot.column % 32, static_cast<i64>(slot.column / 32) * 4};
}

// Calls body(byte of the unit, place in the plain scales) for what the matrix has; the rest is padding.
template <class Body>
QUERN_DEVICE void for_plain(const KernelParams& p, const Place& at, const Body& body) {
#pragma unroll
  for (int i = 0; i < 16; i += kTogether) {
    const i64 line = at.line + i / 4 * 32, block = at.block + i % 4;
    if (line < p.shape.lines && block < p.shape.blocks)
      body(i, scale_place<spec::order>(p.shape, at.expert, line, block));
  }
}

QUERN_DEVICE void to_blocked(const KernelParams& p, const Slot& slot) {
  Unit unit = {};
  for_plain(p, place(p, slot), [&](int i, i64 from) {
    const Vector<kTogether> some = load<kTogether>(static_cast<const u8*>(p.source) + from);
#pragma unroll
    for (int k = 0; k < kTogether; ++k) put_code(unit, i + k, code_at<u8>(some, k));
  });
  u8* const to = static_cast<u8*>(p.out) + slot.index * 16;
#pragma unroll
  for (int i = 0; i < 16; i += spec::vector) {
    Vector<spec::vector> some = {};
#pragma unroll
    for (int k = 0; k < spec::vector; ++k) put_code(some, k, code_at<u8>(unit, i + k));
    store<spec::vector, kStore>(to + i, some);
  }
}

QUERN_DEVICE void from_blocked(const KernelParams& p, const Slot& slot) {
  const u8* const from = static_cast<const u8*>(p.source) + slot.index * 16;
  Unit unit = {};
#pragma unroll
  for (int i = 0; i < 16; i += spec::vector) {
    const Vector<spec::vector> some = load<spec::vector>(from + i);
#pragma unroll
    for (int k = 0; k < spec::vector; ++k) put_code(unit, i + k, code_at<u8>(some, k));
  }
  const Place at = place(p, slot);
  if (spec::square && at.line % 32 != 0) return;  // its first line speaks for a square
  for_plain(p, at, [&](int i, i64 to) {
    Vector<kTogether> some = {};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) put_code(some, k, code_at<u8>(unit, i + k));
    store<kTogether, kStore>(static_cast<u8*>(p.out) + to, some);
  });
}

QUERN_DEVICE void run(const KernelParams& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots, [&](const Tile<spec::unroll>& tile) {
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) {
      const Slot slot = tile[i];
      if (!slot.inside) continue;
      if constexpr (spec::to_blocked) {
        to_blocked(p, slot);
      } else {
        from_blocked(p, slot);
      }
    }
  });
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_RELAYOUT_CUH_
