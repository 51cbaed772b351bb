// The vector form: a slot goes from a source to the matrix, or back, in one access each.
#ifndef QUERN_CONCAT_DIRECT_CUH_
#define QUERN_CONCAT_DIRECT_CUH_

#include "concat/pieces.cuh"

namespace quern::concat {

template <bool Full>
QUERN_DEVICE void move_slots(const Params& p, const Tile& tile, const Lane& lane) {
  const u64 at = tile.matrix + static_cast<u64>(lane.first * tile.stride) + lane.column * kBytes;
  const u64 step = static_cast<u64>(lane.step * tile.stride);
  Word words[spec::unroll];
  if constexpr (spec::splits) {
    for_slots<Full>(lane, [&](int i) { words[i] = load<kBytes, kLoad>(reinterpret_cast<const void*>(at + i * step)); });
    write_pieces<Full>(p, tile, lane, words);
  } else {
    read_pieces<Full>(p, tile, lane, words);
    for_slots<Full>(lane, [&](int i) { store<kBytes, kStore>(reinterpret_cast<void*>(at + i * step), words[i]); });
  }
}

QUERN_DEVICE void move_tile(const Params& p) {
  const Tile tile = tile_of(p);
  const Lane lane = lane_of(p, tile);
  if (lane.is_full()) {
    move_slots<true>(p, tile, lane);
  } else if (lane.has(0)) {
    move_slots<false>(p, tile, lane);
  }
}

}  // namespace quern::concat

#endif  // QUERN_CONCAT_DIRECT_CUH_
