// The side of the sources: a thread reads its slots of a source, or writes them.
#ifndef QUERN_CONCAT_PIECES_CUH_
#define QUERN_CONCAT_PIECES_CUH_

#include "concat/tile.cuh"

namespace quern::concat {

// A thread's column of a source.
struct Piece {
  u64 at;  // the address of its row 0
  i64 stride;
  Pick pick;
};

QUERN_DEVICE Piece piece_of(const Params& p, const Tile& tile, const Lane& lane) {
  const u32 column = tile.column + lane.column, number = spec::flat ? tile.source : find(p, column);
  const Source source = p.sources[number];
  return {source.at + static_cast<u64>(column) * kBytes, source.stride, p.picks[spec::indexed ? number : 0]};
}

// The row of the source in the place of a row; -1: zeros, or backward nowhere.
QUERN_DEVICE i64 picked(const Pick& pick, i64 row) {
  using Index = spec::Index;
  const auto raw = load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(pick.index) + row);
  const i64 index = bit_cast<Index>(raw);
  return spec::checked && (index < 0 || index >= pick.rows) ? -1 : index;
}

template <bool Full>
QUERN_DEVICE void read_picked(const Piece& piece, const Tile& tile, const Lane& lane, Word (&words)[spec::unroll]) {
  i64 rows[spec::unroll] = {};
  for_slots<Full>(lane, [&](int i) { rows[i] = picked(piece.pick, tile.row + lane.first + i * lane.step); });
  for_slots<Full>(lane, [&](int i) {
    const u64 at = piece.at + static_cast<u64>(rows[i] * piece.stride);
    words[i] = {};
    if (!spec::zeros || rows[i] != -1) words[i] = load<kBytes, kLoad>(reinterpret_cast<const void*>(at));
  });
}

template <bool Full>
QUERN_DEVICE void read_pieces(const Params& p, const Tile& tile, const Lane& lane, Word (&words)[spec::unroll]) {
  const Piece piece = piece_of(p, tile, lane);
  if constexpr (spec::indexed) {
    read_picked<Full>(piece, tile, lane, words);
  } else {
    const u64 at = piece.at + static_cast<u64>((tile.row + lane.first) * piece.stride);
    const u64 step = static_cast<u64>(lane.step * piece.stride);
    for_slots<Full>(lane, [&](int i) { words[i] = load<kBytes, kLoad>(reinterpret_cast<const void*>(at + i * step)); });
  }
}

// Each row of the source is picked once at most, so no two threads write it.
template <bool Full>
QUERN_DEVICE void write_picked(const Piece& piece, const Tile& tile, const Lane& lane,
                               const Word (&words)[spec::unroll]) {
  i64 rows[spec::unroll] = {};
  for_slots<Full>(lane, [&](int i) { rows[i] = picked(piece.pick, tile.row + lane.first + i * lane.step); });
  for_slots<Full>(lane, [&](int i) {
    const u64 at = piece.at + static_cast<u64>(rows[i] * piece.stride);
    if (spec::zeros && rows[i] == -1) return;
    store<kBytes, kStore>(reinterpret_cast<void*>(at), words[i]);
  });
}

template <bool Full>
QUERN_DEVICE void write_pieces(const Params& p, const Tile& tile, const Lane& lane, const Word (&words)[spec::unroll]) {
  const Piece piece = piece_of(p, tile, lane);
  if constexpr (spec::indexed) return write_picked<Full>(piece, tile, lane, words);
  const u64 at = piece.at + static_cast<u64>((tile.row + lane.first) * piece.stride);
  const u64 step = static_cast<u64>(lane.step * piece.stride);
  for_slots<Full>(lane, [&](int i) { store<kBytes, kStore>(reinterpret_cast<void*>(at + i * step), words[i]); });
}

}  // namespace quern::concat

#endif  // QUERN_CONCAT_PIECES_CUH_
