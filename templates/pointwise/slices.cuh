// How slots of operands are read. A slot is kElements adjacent elements; its operands may cover [rows, width] in any of
// the ways that Spread names.
#ifndef QUERN_POINTWISE_SLICES_CUH_
#define QUERN_POINTWISE_SLICES_CUH_

#include "common/numbers.cuh"
#include "common/realign.cuh"
#include "common/slots.cuh"
#include "pointwise/params.h"
#include "spec.cuh"

namespace quern::pointwise {

using namespace common;

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
QUERN_DEVICE void true_place(const KernelParams& p, const Place& at, int i, i64& row, i64& column) {
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
QUERN_DEVICE const T* element_at(const void* base, i64 stride, const KernelParams& p, const Place& at, int i) {
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
QUERN_DEVICE float element_of(const void* base, i64 stride, const KernelParams& p, const Place& at, int i) {
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
  QUERN_DEVICE bool read(const void*, i64, const KernelParams&, const Place&) { return true; }
  QUERN_DEVICE void values(float (&out)[kElements]) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) out[i] = 0;
  }
};

template <class T, Spread S>
struct Slice<T, S, Read::one> {
  T value;
  QUERN_DEVICE bool read(const void* base, i64, const KernelParams&, const Place& at) {
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
  QUERN_DEVICE bool read(const void* base, i64 stride, const KernelParams&, const Place& at) {
    const T* const from = static_cast<const T*>(base) + (S == Spread::full ? offset_of(at, stride) : at.column);
    bits = read_if < sizeof(T) * kElements, S == Spread::full ? kLoad : LoadHint::plain > (at.whole(), from);
    return true;
  }
  QUERN_DEVICE void values(float (&out)[kElements]) const { unpack<T, kElements>(bits, out); }
};

template <class T, Spread S>
struct Slice<T, S, Read::each> {
  T elements[kElements];
  QUERN_DEVICE bool read(const void* base, i64 stride, const KernelParams& p, const Place& at) {
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
  QUERN_DEVICE bool read(const void* base, i64 stride, const KernelParams& p, const Place& at) {
    const T* const begin = static_cast<const T*>(base) + (S == Spread::full ? static_cast<i64>(at.row) * stride : 0);
    return window.read(begin + at.column, begin, begin + p.width);
  }
  QUERN_DEVICE void values(float (&out)[kElements]) const { unpack<T, kElements>(window.bits(), out); }
};

template <class T, Spread S>
struct Slice<T, S, Read::shared> : Slice<T, S, Read::each> {
  QUERN_DEVICE bool read(const void* base, i64 stride, const KernelParams& p, const Place& at) {
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

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_SLICES_CUH_
