// Rows of any width without gaps, of halves: a thread makes adjacent results and writes them in one access. Where they
// are the end of a row and the begin of the next one, both rows are this thread's.
#include "common/realign.cuh"
#include "glu/elements.cuh"

namespace quern::glu {

using KernelParams = Params;

static_assert(kElements * sizeof(T) == 16);

// A row of x is [first factors, second factors]. Result i of a thread needs first[i] and first[i + width] if it is of
// the row of the thread's first one; if it is of the next row, first[i + width] and first[i + 2 width], since rows of x
// are twice as long as those of out.
struct PackedPlace {
  const T* first;
  T* out;
  int of_row;  // results that are of the first one's row
};

QUERN_DEVICE PackedPlace packed_place(const Params& p, u32 slot) {
  const u32 element = slot * kElements, width = static_cast<u32>(p.width), row = divide32(element, p.slots.by_row);
  const i64 before = i64{blockIdx.y} * p.slots.rows_of_part * width;
  const u32 rest = (row + 1) * width - element;
  PackedPlace place;
  place.first = static_cast<const T*>(p.x) + 2 * before + (u64{row} * width + element);
  place.out = static_cast<T*>(p.out) + before + element;
  place.of_row = rest < kElements ? static_cast<int>(rest) : kElements;
  return place;
}

QUERN_DEVICE float result_of(const Params& p, float first, float second) {
  const Formula formula{p.numbers};
  return kLayout == GluLayout::halves ? product(formula, first, second) : product(formula, second, first);
}

// ---- Where all aligned blocks of 16 bytes around a thread's numbers are x's

// All but the last two rows and two windows of the part, after which a third of 32 bytes is x's, and but the first warp
// where x is not aligned. Known before a slot's row is, and the same for a whole warp: a warp with both kinds would
// wait for the reads of one and then of the other.
QUERN_DEVICE bool has_all_blocks(const Params& p, u32 first, u32 last) {
  const u32 ends = 2 * static_cast<u32>(p.width) / kElements + 2;
  const bool at_begin = first < 32 && (reinterpret_cast<u64>(p.x) & 15u) != 0;
  return !at_begin && (last | 31u) + ends < slots_of_part(p.slots);
}

// 16 bytes at any address of an element, as read.
struct Window {
  Vector<16> low;
  Vector<16> high;
  u32 offset;
  QUERN_DEVICE void read(bool wanted, const T* at) {
    const u64 address = reinterpret_cast<u64>(at);
    const u8* const from = reinterpret_cast<const u8*>(address & ~u64{15});
    offset = static_cast<u32>(address) & 15u;
    low = load_if<16, kLoad>(wanted, from);
    high = load_if<16, kLoad>(wanted, from + 16);
  }
  QUERN_DEVICE void values(Numbers& numbers) const { unpack<T, kElements>(realign(low, high, offset), numbers); }
};

struct Windows {
  Window first, second, third;
  QUERN_DEVICE void read(const Params& p, const PackedPlace& place) {
    first.read(true, place.first);
    second.read(true, place.first + p.width);
    third.read(place.of_row < kElements, place.first + 2 * i64{p.width});
  }
};

QUERN_DEVICE void finish(const Params& p, const PackedPlace& place, const Windows& windows) {
  Numbers first, second, third, out;
  windows.first.values(first);
  windows.second.values(second);
  windows.third.values(third);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const bool of_row = i < place.of_row;
    out[i] = result_of(p, of_row ? first[i] : second[i], of_row ? second[i] : third[i]);
  }
  store<16, kStore>(place.out, pack<T, kElements>(out));
}

// ---- Elsewhere

QUERN_DEVICE void finish_one_by_one(const Params& p, u32 slot) {
  const PackedPlace place = packed_place(p, slot);
  const i64 left = static_cast<T*>(p.out) + p.rows * p.width - place.out;
  Vector<sizeof(T)> first[kElements], second[kElements];
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const bool wanted = slot < slots_of_part(p.slots) && i < left;
    const T* const from = place.first + i + (i < place.of_row ? 0 : p.width);
    first[i] = load_if<sizeof(T)>(wanted, from);
    second[i] = load_if<sizeof(T)>(wanted, from + p.width);
  }
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const float result = result_of(p, to_compute(bit_cast<T>(first[i])), to_compute(bit_cast<T>(second[i])));
    store_if<sizeof(T)>(slot < slots_of_part(p.slots) && i < left, place.out + i, bits_of<T>(result));
  }
}

QUERN_DEVICE void run(const KernelParams& p) {
  const u32 slot = blockIdx.x * (p.slots.threads * spec::unroll) + threadIdx.x;
  if (has_all_blocks(p, slot, slot + (spec::unroll - 1) * p.slots.threads)) {
    PackedPlace places[spec::unroll];
    Windows windows[spec::unroll];
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) {
      places[i] = packed_place(p, slot + i * p.slots.threads);
      windows[i].read(p, places[i]);
    }
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) finish(p, places[i], windows[i]);
  } else {
#pragma unroll 1
    for (int i = 0; i < spec::unroll; ++i) finish_one_by_one(p, slot + i * p.slots.threads);
  }
}

}  // namespace quern::glu
