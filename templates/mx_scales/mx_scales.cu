// Plain scales to blocked ones and back. A thread has a 16-byte unit of an atom: 4 blocks each of lines 32 apart.
#include "common/divide.cuh"
#include "mx/groups.cuh"
#include "mx/scale_places.cuh"
#include "mx_scales/params.h"
#include "spec.cuh"

namespace quern::mx_scales {

using namespace common;
using namespace mx;

using Unit = Vector<16>;

constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;
constexpr int kTogether = spec::together;  // blocks of a line that are read or written at once: 4 or 1
constexpr bool kSquare = spec::order == ScaleOrder::square_lines || spec::order == ScaleOrder::square_blocks;
constexpr bool kPadded = spec::order == ScaleOrder::padded_lines || spec::order == ScaleOrder::padded_blocks;

QUERN_DEVICE GroupEnds<spec::Offset, spec::whole_groups> ends_of(const Params& p) {
  return {p.offsets, p.status, p.rows, p.groups};
}

// One matrix of scales, an expert's or a group's, and the thread's part of it.
struct ScalePosition {
  ScaleParams shape;
  i64 plain;  // where it begins
  i64 blocked;
  i64 line;   // the first; the others are 32, 64 and 96 lines on
  i64 block;  // the first of 4
};

struct AtomPosition {
  u64 expert;
  i64 strip;
  i64 line;  // of an atom: below 32
  i64 atom;  // of the strip
};

QUERN_DEVICE AtomPosition atom_position(const Params& p) {
  const u64 strip = divide(blockIdx.x, p.by_pieces), expert = divide(strip, p.by_strips);
  const u32 piece = static_cast<u32>(blockIdx.x - strip * p.pieces);
  // Adjacent threads have adjacent atoms, whose plain scales share a sector, then the next line.
  const u32 unit = piece * blockDim.x + threadIdx.x, turn = unit / p.beside;  // a strip has fewer than 2^28
  return {expert, static_cast<i64>(strip - expert * p.strips), turn % 32, turn / 32 * p.beside + unit % p.beside};
}

QUERN_DEVICE i64 plain_bytes(const ScaleParams& p) {
  if constexpr (kPadded) return blocked_bytes(p.lines, p.blocks);
  return (kSquare ? (p.lines + 31) / 32 : p.lines) * p.blocks;
}

QUERN_DEVICE ScalePosition place_in_expert(const Params& p, const AtomPosition& at) {
  const i64 expert = static_cast<i64>(at.expert);
  return {p.shape, expert * plain_bytes(p.shape), expert * blocked_bytes(p.shape.lines, p.shape.blocks),
          at.strip * 128 + at.line, at.atom * 4};
}

// A group is some of the lines (row direction), or some of all lines' blocks.
QUERN_DEVICE ScalePosition place_in_group(const Params& p, const AtomPosition& at) {
  const GroupPlace g = group_place(dynamic_shared());
  if constexpr (spec::col) {
    const i64 line_bytes = kSquare ? (p.shape.lines + 31) / 32 : p.shape.lines;
    const i64 blocked = g.padded_blocks * round_up(p.shape.lines, 128);
    return {{p.shape.lines, (g.rows + 31) / 32},
            kPadded ? blocked : g.blocks * line_bytes,
            blocked,
            at.atom * 128 + at.line,
            g.unit * 4};
  }
  const i64 blocked = g.padded_rows * round_up(p.shape.blocks, 4);
  return {{g.rows, p.shape.blocks},
          kPadded ? blocked : (kSquare ? g.blocks : g.start) * p.shape.blocks,
          blocked,
          g.unit * 128 + at.line,
          at.atom * 4};
}

// Calls body(byte of the unit, index in the plain scales) for bytes inside the matrix; the rest is padding.
template <class Body>
QUERN_DEVICE void for_plain(const ScalePosition& at, const Body& body) {
#pragma unroll
  for (int i = 0; i < 16; i += kTogether) {
    const i64 line = at.line + i / 4 * 32, block = at.block + i % 4;
    if (line < at.shape.lines && block < at.shape.blocks)
      body(i, at.plain + scale_place<spec::order>(at.shape, 0, line, block));
  }
}

// Some of a unit's bytes.
template <int Bytes>
QUERN_DEVICE Vector<Bytes> part_of(const Unit& unit, int first) {
  Vector<Bytes> some = {};
#pragma unroll
  for (int k = 0; k < Bytes; ++k) put_code(some, k, code_at<u8>(unit, first + k));
  return some;
}
template <int Bytes>
QUERN_DEVICE void put_part(Unit& unit, int first, const Vector<Bytes>& some) {
#pragma unroll
  for (int k = 0; k < Bytes; ++k) put_code(unit, first + k, code_at<u8>(some, k));
}

QUERN_DEVICE void to_blocked(const Params& p, const ScalePosition& at, i64 unit) {
  Unit bytes = {};
  for_plain(at, [&](int i, i64 from) { put_part(bytes, i, load<kTogether>(static_cast<const u8*>(p.source) + from)); });
#pragma unroll
  for (int i = 0; i < 16; i += spec::vector)
    store<spec::vector, kStore>(static_cast<u8*>(p.out) + unit + i, part_of<spec::vector>(bytes, i));
}

QUERN_DEVICE void from_blocked(const Params& p, const ScalePosition& at, i64 unit) {
  if (kSquare && at.line % 32 != 0) return;  // the first line of a square has its scale
  Unit bytes = {};
#pragma unroll
  for (int i = 0; i < 16; i += spec::vector)
    put_part(bytes, i, load<spec::vector>(static_cast<const u8*>(p.source) + unit + i));
  for_plain(
      at, [&](int i, i64 to) { store<kTogether, kStore>(static_cast<u8*>(p.out) + to, part_of<kTogether>(bytes, i)); });
}

QUERN_DEVICE void move_scales(const Params& p) {
  const AtomPosition here = atom_position(p);
  ScalePosition at;
  if constexpr (spec::groups) {
    const auto strips = [](i64 rows) { return (rows + 127) / 128; };  // 128 lines, or 4 blocks of 32
    if (find_group(ends_of(p), here.strip, dynamic_shared(), strips) != Search::found) return;
    at = place_in_group(p, here);
  } else {
    at = place_in_expert(p, here);
  }
  if (at.line >= round_up(at.shape.lines, 128) || at.block >= round_up(at.shape.blocks, 4)) return;
  const i64 unit = at.blocked + blocked_offset(at.line, at.block, at.shape.blocks);
  if constexpr (spec::to_blocked) {
    to_blocked(p, at, unit);
  } else {
    from_blocked(p, at, unit);
  }
}

}  // namespace quern::mx_scales

static_assert(sizeof(quern::mx_scales::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_mx_scales(const __grid_constant__ quern::mx_scales::Params params) {
  if constexpr (quern::spec::noop) {
    if (quern::common::bit_cast<float>(quern::common::load<4>(params.noop)) == 1.0f) return;
  }
  quern::mx_scales::move_scales(params);
}
