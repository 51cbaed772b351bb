#ifndef QUERN_COMMON_SLOTS_CUH_
#define QUERN_COMMON_SLOTS_CUH_

#include "common/divide.cuh"

namespace quern::common {

// Work on rows, divided into slots of one access each: `per_row` per row, numbered through all rows. A tile has
// `unroll` slots for each thread of the block. So a few long rows fill the device as well as many short ones, and
// accesses of a warp coalesce.
struct Slots {
  u64 count;    // in all rows
  u32 per_row;  // below 2^30
  Divisor by_row;
};

#ifndef __CUDA_ARCH__
// Of `rows` rows; per_row >= 1.
inline Slots make_slots(u64 rows, u64 per_row) {
  return {rows * per_row, static_cast<u32>(per_row), make_divisor(per_row)};
}
#endif

struct Slot {
  u64 index;  // through all rows
  u64 row;
  u32 column;  // in slots
  bool inside;
};

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

// The slots of one thread in the tile that begins at slot `first`: every blockDim.x-th. One 64-bit division, by
// multiplication; the rest is 32 bits wide, since a tile starts inside its first row.
template <int Unroll>
class Tile {
 public:
  QUERN_DEVICE Tile(const Slots& slots, u64 first) : slots_(slots), first_(first) {
    row_ = divide(first_, slots.by_row);
    column_ = static_cast<u32>(first_ - row_ * slots.per_row);
  }

  // The tile's first slot, the same for all threads.
  QUERN_DEVICE u64 first() const { return first_; }

  QUERN_DEVICE Slot operator[](int i) const {
    const u32 offset = i * blockDim.x + threadIdx.x;
    const u32 column = column_ + offset;
    const u32 rows = divide32(column, slots_.by_row);
    return {first_ + offset, row_ + rows, column - rows * slots_.per_row, first_ + offset < slots_.count};
  }

 private:
  const Slots& slots_;
  u64 first_;
  u64 row_;
  u32 column_;
};

// Calls body(tile) for the block's tiles: one, or a grid-stride loop in a persistent kernel. Only a persistent kernel
// may have fewer blocks than tiles.
template <int Unroll, bool Persistent, class Body>
QUERN_DEVICE void for_tiles(const Slots& slots, const Body& body) {
  u64 first = static_cast<u64>(blockIdx.x) * (blockDim.x * Unroll);
#pragma unroll 1
  do {
    body(Tile<Unroll>(slots, first));
    first += static_cast<u64>(gridDim.x) * (blockDim.x * Unroll);
  } while (Persistent && first < slots.count);
}

#endif

}  // namespace quern::common

#endif  // QUERN_COMMON_SLOTS_CUH_
