#ifndef QUERN_COMMON_SLOTS_CUH_
#define QUERN_COMMON_SLOTS_CUH_

#include "common/divide.cuh"

namespace quern::common {

// Work on rows, divided into slots of one access each: `per_row` per row, numbered through all rows. A tile has
// `unroll` slots for each thread of the block. So a few long rows fill the device as well as many short ones, and
// accesses of a warp coalesce.
//
// They are launched in parts of at most 2^30 slots and whole rows, one for each blockIdx.y, so that a division of 32
// bits is all that comes before a thread's first read, in images that know no extents: one of 64 bits is some 30
// instructions.
//
// A launch waits for each line of 64 bytes of its parameters that it reads. Parameters begin 16 bytes into a line: the
// first 48 are in one, the next 64 in another. So structs of parameters begin with what comes before the first read.
struct Slots {
  u32 per_row;  // below 2^30
  u32 of_part;
  u32 rows_of_part;
  Divisor32 by_row;
  u32 last_part;
  u32 of_last;
  u32 threads;  // of a block, set by the launch: on an H200 with cold caches blockDim costs 0.04 us, a parameter
                // nothing
};

constexpr u32 kMostSlotsOfPart = u32{1} << 30;

#ifndef __CUDA_ARCH__
// A launch with more is refused.
constexpr u64 kMostParts = 65535;

// `count` slots in parts of so many.
inline Slots slots_in_parts(u64 count, u64 per_row, u32 of_part, u32 rows_of_part) {
  const u64 last = count <= of_part ? 0 : (count - 1) / of_part;
  const u32 of_last = static_cast<u32>(count - last * of_part),
            part = static_cast<u32>(last < kMostParts ? last : kMostParts);
  return {static_cast<u32>(per_row), of_part, rows_of_part, make_divisor32(per_row), part, of_last, 0};
}

// Of `rows` rows; per_row >= 1. One part needs no division, as in almost every launch.
inline Slots make_slots(u64 rows, u64 per_row) {
  const u64 count = rows * per_row;
  const u32 row = static_cast<u32>(per_row);
  const u32 rows_of_part = count <= kMostSlotsOfPart ? static_cast<u32>(rows) : kMostSlotsOfPart / row;
  return slots_in_parts(count, per_row, rows_of_part * row, rows_of_part);
}
#endif

struct Slot {
  u64 index;  // through all rows
  u64 row;
  u32 column;  // in slots
  bool inside;
};

#if defined(__CUDA_ARCH__) || defined(QUERN_HOST_IMAGE)

// Of the block's part. One selection: with a branch a read waits 0.1 us longer on an H200.
QUERN_DEVICE u32 slots_of_part(const Slots& slots) {
  return blockIdx.y == slots.last_part ? slots.of_last : slots.of_part;
}

// The slots of one thread in the tile that begins at slot `first` of the block's part: as many apart as the block has
// threads.
template <int Unroll>
class Tile {
 public:
  QUERN_DEVICE Tile(const Slots& slots, u32 first) : slots_(slots), first_(first), count_(slots_of_part(slots)) {}

  // The tile's first slot, the same for all threads.
  QUERN_DEVICE u64 first() const { return before() + first_; }

  QUERN_DEVICE Slot operator[](int i) const {
    const u32 number = first_ + i * slots_.threads + threadIdx.x, row = divide32(number, slots_.by_row);
    return {before() + number, static_cast<u64>(blockIdx.y) * slots_.rows_of_part + row, number - row * slots_.per_row,
            number < count_};
  }

 private:
  QUERN_DEVICE u64 before() const { return static_cast<u64>(blockIdx.y) * slots_.of_part; }  // slots of earlier parts

  const Slots& slots_;
  u32 first_;
  u32 count_;  // slots of the part
};

// Fewer than the launch has, for this block.
QUERN_DEVICE void limit_slots(Slots& slots, u64 count) {
  const u64 before = static_cast<u64>(blockIdx.y) * slots.of_part;
  if (count >= before + slots.of_part) return;
  slots.last_part = blockIdx.y;
  slots.of_last = count <= before ? 0 : static_cast<u32>(count - before);
}

// Calls body(tile) for the block's tiles: one, or a grid-stride loop in a persistent kernel. Only a persistent kernel
// may have fewer blocks than tiles.
template <int Unroll, bool Persistent, class Body>
QUERN_DEVICE void for_tiles(const Slots& slots, const Body& body) {
  const u32 tile = slots.threads * Unroll;
  u32 first = blockIdx.x * tile;
#pragma unroll 1
  do {
    body(Tile<Unroll>(slots, first));
    first += gridDim.x * tile;
  } while (Persistent && first < slots_of_part(slots));
}

#endif

}  // namespace quern::common

#endif  // QUERN_COMMON_SLOTS_CUH_
