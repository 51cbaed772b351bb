// Moves groups of rows to multiples of `align`, with zeros between them, and back.
#include "common/divide.cuh"
#include "mx/groups.cuh"
#include "row_pad/params.h"
#include "spec.cuh"

namespace quern::row_pad {

using namespace common;
using namespace mx;

using Word = Vector<spec::vector>;

QUERN_DEVICE GroupEnds<spec::Offset, false> ends_of(const Params& p) { return {p.offsets, p.status, p.rows, p.groups}; }

constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

QUERN_DEVICE i64 slabs_of(const Params& p, i64 rows) {
  return rows <= 0 ? 0 : static_cast<i64>(divide(static_cast<u64>(rows + p.align - 1), p.by_align));
}

template <class T>
QUERN_DEVICE void put_offset(void* offsets, u32 at, i64 value) {
  store<sizeof(T)>(static_cast<T*>(offsets) + at, bit_cast<Vector<sizeof(T)>>(static_cast<T>(value)));
}

// The place of each group after padding. By one warp.
QUERN_DEVICE void write_padded_offsets(const Params& p) {
  i64 before = 0;
  u32 first = 0;
  for_groups(ends_of(p), [&](const Group& group) {
    const i64 own = slabs_of(p, group.rows) * p.align, end = before + warp_prefix_sum(own);
    const u32 g = first + threadIdx.x;
    if (g < p.groups) {
      put_offset<spec::Offset>(p.starts, g, end - own);
      put_offset<spec::Offset>(p.ends, g, end);
    }
    before = last_lane(end);
    first += 32;
  });
}

struct Piece {
  i64 padded;  // where the slab begins in the padded matrix, in bytes
  i64 plain;   // and in the other
  i64 bytes;   // of the slab that belong to a group; the rest is padding
};

QUERN_DEVICE Piece piece_of(const Params& p, i64 slab, bool in_group) {
  Piece piece = {slab * p.align * p.row_bytes, 0, 0};
  if (!in_group) return piece;
  const GroupPlace g = group_place(dynamic_shared());
  const i64 left = g.rows - g.unit * p.align;
  piece.plain = (g.start + g.unit * p.align) * p.row_bytes;
  piece.bytes = (left < p.align ? left : p.align) * p.row_bytes;
  return piece;
}

QUERN_DEVICE void copy(const Params& p, const Piece& piece, i64 first) {
  const u8* const source = static_cast<const u8*>(p.source) + (spec::pads ? piece.plain : piece.padded);
  u8* const out = static_cast<u8*>(p.out) + (spec::pads ? piece.padded : piece.plain);
  const i64 end = spec::pads ? p.align * p.row_bytes : piece.bytes;
  const i64 step = static_cast<i64>(blockDim.x) * spec::vector;
  Word words[spec::unroll] = {};
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if (first + i * step < piece.bytes) words[i] = load<spec::vector>(source + first + i * step);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if (first + i * step < end) store<spec::vector, kStore>(out + first + i * step, words[i]);
  }
}

QUERN_DEVICE void move_rows(const Params& p) {
  const u64 slab = divide(blockIdx.x, p.by_pieces);
  const u32 piece = static_cast<u32>(blockIdx.x - slab * p.pieces);
  const auto slabs = [&](i64 rows) { return slabs_of(p, rows); };
  const Search search = find_group(ends_of(p), static_cast<i64>(slab), dynamic_shared(), slabs);
  if (search == Search::wrong) return;
  if constexpr (spec::pads) {
    if (blockIdx.x == 0 && threadIdx.x < 32) write_padded_offsets(p);
  }
  const i64 first = (static_cast<i64>(piece) * spec::unroll * blockDim.x + threadIdx.x) * spec::vector;
  copy(p, piece_of(p, static_cast<i64>(slab), search == Search::found), first);
}

}  // namespace quern::row_pad

static_assert(sizeof(quern::row_pad::Params) == quern::spec::params_bytes, "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_row_pad(const __grid_constant__ quern::row_pad::Params params) {
  if constexpr (quern::spec::noop) {
    if (quern::common::bit_cast<float>(quern::common::load<4>(params.noop)) == 1.0f) return;
  }
  quern::row_pad::move_rows(params);
}
