// Three forms, all of kElements elements a slot. `rows`: rows, strides and addresses are multiples of a slot. `flat`:
// packed operands of any row length seen as one long row, so that slots straddle rows; where an operand is broadcast
// along rows or columns, the slots of a thread are a cycle of rows apart, where they meet the same columns, so that it
// reads a broadcast row once. `ragged`: any element-aligned
// rows; slots are aligned to out, and the other operands are combined from two aligned reads by shifts.
//
// Whole slots have two phases: all reads of all operands, then their use, so a thread waits once. Slots at the ends of
// rows go element by element; the end of the flat form has a block of its own.
#ifndef QUERN_POINTWISE_FORWARD_CUH_
#define QUERN_POINTWISE_FORWARD_CUH_

#include "common/activations.cuh"
#include "common/numbers.cuh"
#include "common/realign.cuh"
#include "common/slots.cuh"
#include "pointwise/params.h"
#include "spec.cuh"

namespace quern::pointwise {

using namespace common;

using KernelParams = Params;

constexpr int kElements = spec::elements;
constexpr LoadHint kLoad = spec::load_stream ? LoadHint::stream : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

// A slot: the row and column of its first element, as the kernel counts and in the matrix, which differ in the flat
// form; and which of its elements exist.
struct Place {
  u64 row;
  i64 column;
  i64 true_row;
  i64 true_column;
  i64 packed;  // in packed operands: of all elements
  int begin;
  int end;
  QUERN_DEVICE bool whole() const { return begin == 0 && end == kElements; }
};

// The address of packed operands does not wait for the slot's row.
QUERN_DEVICE i64 offset_of(const Place& at, i64 stride) {
  return spec::packed ? at.packed : static_cast<i64>(at.row) * stride + at.column;
}

// Whether reads and stores are predicated, so that none waits for a branch: on an H200 that is 0.06 us of a small
// problem. Several slots a thread have branches: without them the compiler mixes the slots, and reads wait for
// registers. So have ragged slots, whose reads need them.
constexpr bool kPredicated = spec::unroll == 1 && !spec::ragged;

// `wanted` is true if reads are not predicated.
template <int Bytes, LoadHint H>
QUERN_DEVICE Vector<Bytes> read_if(bool wanted, const void* from) {
  if constexpr (!kPredicated) return load<Bytes, H>(from);
  return load_if<Bytes, H>(wanted, from);
}

template <class T>
QUERN_DEVICE T element(bool wanted, const T* from) {
  return bit_cast<T>(read_if<sizeof(T), LoadHint::plain>(wanted, from));
}

// Whether the slots of a thread meet the same columns.
constexpr bool kCycles = spec::flat && spec::has_period;

// The row and column in the matrix of an element of a slot; in the flat form it may be in a later row. Columns are
// below 2^31.
QUERN_DEVICE void true_place(const Params& p, const Place& at, int i, i64& row, i64& column) {
  row = at.true_row;
  column = at.true_column + i;
  if constexpr (kCycles) {
    const u32 period = static_cast<u32>(p.period);
    u32 left = static_cast<u32>(column);
    if constexpr (spec::rows_hold_slots) {
      const bool next = left >= period;
      row += next ? 1 : 0;
      left -= next ? period : 0;
    } else {
      for (; left >= period; left -= period) ++row;
    }
    column = left;
  }
}

// Where an element of an operand is, at any address. The operand is not absent.
template <class T, Spread S>
QUERN_DEVICE const T* element_at(const void* base, i64 stride, const Params& p, const Place& at, int i) {
  const T* const from = static_cast<const T*>(base);
  if constexpr (S == Spread::full) {
    return from + offset_of(at, stride) + i;
  } else if constexpr (S == Spread::scalar) {
    return from;
  } else {
    i64 row, column;
    true_place(p, at, i, row, column);
    return from + (S == Spread::row ? column : row);
  }
}

template <class T, Spread S>
QUERN_DEVICE float element_of(const void* base, i64 stride, const Params& p, const Place& at, int i) {
  if constexpr (S == Spread::none)
    return 0;
  else
    return to_compute(element(true, element_at<T, S>(base, stride, p, at, i)));
}

// How a whole slot of an operand is read.
enum class Read {
  none,
  one,      // a value for all elements
  vector,   // one aligned access
  shifted,  // two aligned accesses, unless one is enough or they would leave the row
  each,     // element by element
  shared,   // the same, for all slots of the thread
};

template <class T, Spread S>
QUERN_DEVICE constexpr Read read_of() {
  constexpr bool shiftable = sizeof(T) * kElements == 16;
  if (S == Spread::none) return Read::none;
  if (S == Spread::scalar || (S == Spread::column && !spec::flat)) return Read::one;
  if (S == Spread::column) return Read::each;
  if (S == Spread::row && spec::flat) return Read::shared;
  if (!spec::ragged) return Read::vector;
  return shiftable ? Read::shifted : Read::each;
}

// The bits of a whole slot of an operand, as read; converted to numbers when they are used. `read` returns whether it
// has read them: at the ends of rows it may fail. A predicated one reads nothing if the slot is not whole.
template <class T, Spread S, Read R = read_of<T, S>()>
struct Slice {
  QUERN_DEVICE bool read(const void*, i64, const Params&, const Place&) { return true; }
  QUERN_DEVICE void values(float (&out)[kElements]) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) out[i] = 0;
  }
};

template <class T, Spread S>
struct Slice<T, S, Read::one> {
  T value;
  QUERN_DEVICE bool read(const void* base, i64, const Params&, const Place& at) {
    const T* const from = static_cast<const T*>(base) + (S == Spread::column ? at.row : 0);
    value = element(at.whole(), from);
    return true;
  }
  QUERN_DEVICE void values(float (&out)[kElements]) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) out[i] = to_compute(value);
  }
};

template <class T, Spread S>
struct Slice<T, S, Read::vector> {
  Vector<sizeof(T) * kElements> bits;
  QUERN_DEVICE bool read(const void* base, i64 stride, const Params&, const Place& at) {
    const T* const from = static_cast<const T*>(base) + (S == Spread::full ? offset_of(at, stride) : at.column);
    bits = read_if < sizeof(T) * kElements, S == Spread::full ? kLoad : LoadHint::plain > (at.whole(), from);
    return true;
  }
  QUERN_DEVICE void values(float (&out)[kElements]) const { unpack<T, kElements>(bits, out); }
};

template <class T, Spread S>
struct Slice<T, S, Read::each> {
  T elements[kElements];
  QUERN_DEVICE bool read(const void* base, i64 stride, const Params& p, const Place& at) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) elements[i] = element(at.whole(), element_at<T, S>(base, stride, p, at, i));
    return true;
  }
  QUERN_DEVICE void values(float (&out)[kElements]) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) out[i] = to_compute(elements[i]);
  }
};

// The 16 bytes at `from` from two aligned reads, or one if it is aligned.
struct Window {
  Vector<16> low;
  Vector<16> high;
  u32 offset;
  // Fails if a read would leave `begin` .. `end`.
  QUERN_DEVICE bool read(const void* from, const void* begin, const void* end) {
    offset = reinterpret_cast<u64>(from) & 15;
    const u8* const aligned = static_cast<const u8*>(from) - offset;
    if (aligned < static_cast<const u8*>(begin) || aligned + (offset != 0 ? 32 : 16) > static_cast<const u8*>(end))
      return false;
    low = load<16, LoadHint::plain>(aligned);
    if (offset != 0) high = load<16, LoadHint::plain>(aligned + 16);
    return true;
  }
  QUERN_DEVICE Vector<16> bits() const { return realign(low, high, offset); }
};

template <class T, Spread S>
struct Slice<T, S, Read::shifted> {
  Window window;
  QUERN_DEVICE bool read(const void* base, i64 stride, const Params& p, const Place& at) {
    const T* const begin = static_cast<const T*>(base) + (S == Spread::full ? static_cast<i64>(at.row) * stride : 0);
    return window.read(begin + at.column, begin, begin + p.width);
  }
  QUERN_DEVICE void values(float (&out)[kElements]) const { unpack<T, kElements>(window.bits(), out); }
};

template <class T, Spread S>
struct Slice<T, S, Read::shared> : Slice<T, S, Read::each> {
  QUERN_DEVICE bool read(const void* base, i64 stride, const Params& p, const Place& at) {
    if constexpr (S != Spread::row || !spec::rows_hold_slots) return Slice<T, S, Read::each>::read(base, stride, p, at);
    // A slot is in at most two rows: one comparison and one addition an element.
    const u32 column = static_cast<u32>(at.true_column), period = static_cast<u32>(p.period);
    const T* const from = static_cast<const T*>(base);
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const u32 other = i < static_cast<int>(period - column) ? 0 : period;
      this->elements[i] = element(at.whole(), from + (column + i - other));
    }
    return true;
  }
};

struct Operands {
  Slice<spec::X, spec::x_spread> x;
  Slice<spec::Y, spec::y_spread> y;
  Slice<spec::Bias, spec::bias_spread> bias;
};

// The `single` contract: the stored type decides how exact an activation must be.
using Single = RoundingOf<sizeof(spec::Output)>::Type;

QUERN_DEVICE float compute(const Params& p, float x, float y, float bias) {
  float z = x;
  if constexpr (spec::torch) {
    if constexpr (spec::has_y) z = round_to<spec::Sum>(z + round_to<spec::Y>(p.multiplier * y));
    if constexpr (spec::bias_spread != Spread::none) z = round_to<spec::Biased>(z + bias);
    return round_to<spec::Biased>(activate<spec::activation>(z, p.alpha, RoundTo<spec::Biased>()));
  } else {
    if constexpr (spec::has_y) z = fmaf(p.multiplier, y, z);
    if constexpr (spec::bias_spread != Spread::none) z += bias;
    return activate<spec::activation>(z, p.alpha, Single());
  }
}

QUERN_DEVICE spec::Output* out_at(const Params& p, const Place& at) {
  return static_cast<spec::Output*>(p.out) + offset_of(at, p.out_stride);
}

// Reads a slice, or copies that of the thread's first slot. Where a slot is whole, so is the first.
template <class T, Spread S>
QUERN_DEVICE bool read_or_share(Slice<T, S>& slice, const Slice<T, S>& first, const void* base, i64 stride,
                                const Params& p, const Place& at) {
  if (read_of<T, S>() != Read::shared || &slice == &first) return slice.read(base, stride, p, at);
  slice = first;
  return true;
}

QUERN_DEVICE bool read_slot(const Params& p, const Place& at, const Operands& first, Operands& o) {
  const bool x = read_or_share<spec::X, spec::x_spread>(o.x, first.x, p.x, p.x_stride, p, at);
  const bool y = read_or_share<spec::Y, spec::y_spread>(o.y, first.y, p.y, p.y_stride, p, at);
  const bool bias = read_or_share<spec::Bias, spec::bias_spread>(o.bias, first.bias, p.bias, p.period, p, at);
  return x && y && bias;
}

QUERN_DEVICE void store_slot(bool wanted, const Params& p, const Place& at, const Operands& o) {
  if (!kPredicated && !wanted) return;
  float x[kElements], y[kElements], bias[kElements];
  o.x.values(x);
  o.y.values(y);
  o.bias.values(bias);
#pragma unroll
  for (int i = 0; i < kElements; ++i) x[i] = compute(p, x[i], y[i], bias[i]);
  store_if<sizeof(spec::Output) * kElements, kStore>(wanted, out_at(p, at), pack<spec::Output, kElements>(x));
}

QUERN_DEVICE void run_element(const Params& p, const Place& at, int i) {
  const float x = element_of<spec::X, spec::x_spread>(p.x, p.x_stride, p, at, i);
  const float y = element_of<spec::Y, spec::y_spread>(p.y, p.y_stride, p, at, i);
  const float bias = element_of<spec::Bias, spec::bias_spread>(p.bias, p.period, p, at, i);
  const auto value = from_compute<spec::Output>(compute(p, x, y, bias));
  store<sizeof(value), StoreHint::plain>(out_at(p, at) + i, bit_cast<Vector<sizeof(value)>>(value));
}

constexpr int kSlotsOfTile = kCycles ? 1 : spec::unroll;
using ThreadTile = Tile<kSlotsOfTile>;

// Where slots are cycles apart, the first one of a thread: the rows of a tile are groups of cycles.
QUERN_DEVICE Slot first_slot(const Params& p, const ThreadTile& tile) {
  Slot slot = tile[0];
  if constexpr (spec::unroll == 1) return slot;
  slot.row *= spec::unroll;
  slot.index = slot.row * p.slots.per_row + slot.column;
  return slot;
}

// Ragged slots start where out is aligned, up to a slot before the row.
QUERN_DEVICE Place place(const Params& p, const Slot& slot) {
  const u64 row = spec::flat ? 0 : slot.row;
  i64 column = static_cast<i64>(spec::flat ? slot.index : slot.column) * kElements;
  if constexpr (spec::ragged) {
    const u64 address = reinterpret_cast<u64>(static_cast<spec::Output*>(p.out) + row * p.out_stride);
    column -= static_cast<i64>(address % (sizeof(spec::Output) * kElements) / sizeof(spec::Output));
  }
  Place at = {row,
              column,
              static_cast<i64>(row),
              column,
              static_cast<i64>(slot.index) * kElements,
              spec::ragged && column < 0 ? static_cast<int>(-column) : 0,
              kElements};
  if constexpr (!kCycles && !spec::ragged) {  // all slots are whole; a tail is not among them
    if (!slot.inside) at.end = 0;
    return at;
  }
  const i64 left = slot.inside ? p.width - column : 0;
  if (left < kElements) at.end = left < 0 ? 0 : static_cast<int>(left);
  if constexpr (kCycles) {
    const u32 first = slot.column * kElements;
    const u32 later = divide32(first, p.by_period);
    at.true_row = static_cast<i64>(slot.row * p.cycle_rows + later);
    at.true_column = first - later * static_cast<u32>(p.period);
  }
  return at;
}

// The place of the slot that is so many cycles after it: in the same columns.
QUERN_DEVICE Place later(const Params& p, Place at, int cycles) {
  at.column += static_cast<i64>(p.slots.per_row) * kElements * cycles;
  at.true_row += static_cast<i64>(p.cycle_rows) * cycles;
  return at;
}

// The elements from that slot to the end of the operands.
QUERN_DEVICE i64 left_after(const Params& p, const Place& at, int cycles) {
  return p.width - later(p, at, cycles).column;
}

// So that no read waits for a branch, a slot after the operands' last whole one is read where the thread's first one
// is, and not stored.
QUERN_DEVICE void run_cycles(const Params& p, const ThreadTile& tile) {
  const Place first = place(p, first_slot(p, tile));
  Operands operands[spec::unroll];
  if (!kPredicated && !first.whole()) return;
  const auto has = [&](int i) { return i == 0 || left_after(p, first, i) >= kElements; };
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) read_slot(p, later(p, first, has(i) ? i : 0), operands[0], operands[i]);
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) store_slot(first.whole() && has(i), p, later(p, first, i), operands[i]);
}

QUERN_DEVICE void run_slots(const Params& p, const ThreadTile& tile) {
  Operands operands[spec::unroll];
  bool whole[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Place at = place(p, tile[i]);
    const bool is_read = (kPredicated || at.whole()) && read_slot(p, at, operands[0], operands[i]);
    whole[i] = at.whole() && is_read;
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) store_slot(whole[i], p, place(p, tile[i]), operands[i]);
  if constexpr (spec::ragged) {
    u32 left = 0;
#pragma unroll
    for (int i = 0; i < spec::unroll; ++i) left |= whole[i] ? 0u : 1u << i;
#pragma unroll 1
    for (int i = 0; left != 0; ++i, left >>= 1) {
      const Place at = place(p, tile[i]);
#pragma unroll 1
      for (int k = at.begin; (left & 1) != 0 && k < at.end; ++k) run_element(p, at, k);
    }
  }
}

// The operands' last slot, where it is not whole: an element a thread, so that a small problem does not wait for one
// after another.
QUERN_DEVICE void run_tail(const Params& p) {
  Slot slot = {static_cast<u64>(p.width) / kElements, 0, 0, true};
  if constexpr (kCycles) {
    slot.row = divide(slot.index, p.by_cycle);
    slot.column = static_cast<u32>(slot.index - slot.row * p.slots.per_row);
  }
  const Place at = place(p, slot);
  if (static_cast<i64>(threadIdx.x) < p.width - at.column) run_element(p, at, static_cast<int>(threadIdx.x));
}

// The tail is last: no read waits for the branch. It has a block after the others, which has no other slots, or in a
// persistent kernel the first one.
QUERN_DEVICE void run(const Params& p) {
  for_tiles<kSlotsOfTile, spec::persistent>(
      p.slots, [&](const ThreadTile& tile) { kCycles ? run_cycles(p, tile) : run_slots(p, tile); });
  if constexpr (spec::has_tail) {
    if (blockIdx.x == p.tail_block && blockIdx.y == 0) run_tail(p);
  }
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_FORWARD_CUH_
