// The ragged form: a tile goes through shared memory. On the side of the sources an access is a slot, narrow, and
// adjacent threads have adjacent slots; on the side of the matrix it has 16 bytes and is aligned, except at
// the ends of a run.
#ifndef QUERN_CONCAT_STAGED_CUH_
#define QUERN_CONCAT_STAGED_CUH_

#include "common/shared.cuh"
#include "concat/pieces.cuh"

namespace quern::concat {

// The tile's bytes in the matrix as runs without gaps: one of all rows, or one a row. Shared memory has them `pitch`
// apart, each byte at its address modulo 16.
struct Runs {
  u32 count;
  u32 bytes;
  u32 pitch;  // also between rows of one run
  u32 lead;   // where the first one is
};

QUERN_DEVICE Runs runs_of(const Tile& tile) {
  const u32 row = tile.columns * kBytes, pitch = row + (static_cast<u32>(tile.stride - row) & 15u);
  const u32 lead = static_cast<u32>(tile.matrix) & 15u;
  if (tile.stride != row) return {tile.rows, row, pitch, lead};
  return {1, (tile.rows - 1) * row + tile.last * kBytes, pitch, lead};
}

template <int Bytes>
QUERN_DEVICE void move(u64 matrix, u8* shared) {
  if constexpr (spec::splits) {
    store_shared<Bytes>(shared, load<Bytes, kLoad>(reinterpret_cast<const void*>(matrix)));
  } else {
    store<Bytes, kStore>(reinterpret_cast<void*>(matrix), load_shared<Bytes>(shared));
  }
}

// Each run in aligned accesses, and its ends, below 16 bytes each, slot by slot.
QUERN_DEVICE void move_matrix(const Tile& tile, const Runs& runs) {
  constexpr u32 kSlots = 16 / kBytes;
  const u32 most = runs.bytes / 16, log2 = most > 1 ? 32 - static_cast<u32>(__clz(static_cast<int>(most - 1))) : 0;
#pragma unroll 1
  for (u32 i = threadIdx.x; i < runs.count << log2; i += blockDim.x) {
    const u32 run = i >> log2, number = i - (run << log2);
    const u64 matrix = tile.matrix + static_cast<u64>(run * tile.stride);
    const u32 at = (static_cast<u32>(-matrix) & 15u) + number * 16;
    if (number < most && at + 16 <= runs.bytes)
      move<16>(matrix + at, dynamic_shared() + runs.lead + run * runs.pitch + at);
  }
#pragma unroll 1
  for (u32 i = threadIdx.x; i < runs.count * 2 * kSlots; i += blockDim.x) {
    const u32 run = i / (2 * kSlots), slot = i % kSlots;
    const u64 matrix = tile.matrix + static_cast<u64>(run * tile.stride);
    const u32 begin = static_cast<u32>(-matrix) & 15u, end = begin < runs.bytes ? begin : runs.bytes;
    const bool at_end = i % (2 * kSlots) >= kSlots;
    const u32 at = (at_end ? end + (runs.bytes - end) / 16 * 16 : 0) + slot * kBytes;
    if (at < (at_end ? runs.bytes : end))
      move<kBytes>(matrix + at, dynamic_shared() + runs.lead + run * runs.pitch + at);
  }
}

// Between the sources and shared memory.
template <bool Full>
QUERN_DEVICE void move_slots(const Params& p, const Tile& tile, const Lane& lane, const Runs& runs) {
  u8* const at = dynamic_shared() + runs.lead + lane.first * runs.pitch + lane.column * kBytes;
  const u32 step = lane.step * runs.pitch;
  Word words[spec::unroll];
  if constexpr (spec::splits) {
    for_slots<Full>(lane, [&](int i) { words[i] = load_shared<kBytes>(at + i * step); });
    write_pieces<Full>(p, tile, lane, words);
  } else {
    read_pieces<Full>(p, tile, lane, words);
    for_slots<Full>(lane, [&](int i) { store_shared<kBytes>(at + i * step, words[i]); });
  }
}

QUERN_DEVICE void move_slots(const Params& p, const Tile& tile, const Lane& lane, const Runs& runs) {
  if (lane.is_full()) {
    move_slots<true>(p, tile, lane, runs);
  } else if (lane.has(0)) {
    move_slots<false>(p, tile, lane, runs);
  }
}

QUERN_DEVICE void move_tile(const Params& p) {
  const Tile tile = tile_of(p);
  const Lane lane = lane_of(p, tile);
  const Runs runs = runs_of(tile);
  if constexpr (spec::splits) {
    move_matrix(tile, runs);
  } else {
    move_slots(p, tile, lane, runs);
  }
  __syncthreads();
  if constexpr (spec::splits) {
    move_slots(p, tile, lane, runs);
  } else {
    move_matrix(tile, runs);
  }
}

}  // namespace quern::concat

#endif  // QUERN_CONCAT_STAGED_CUH_
