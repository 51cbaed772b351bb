// The elements of a row that a thread has at once, and how it reads and writes them: adjacent ones in one access, or
// every 32nd one by one, so that adjacent lanes have adjacent ones at any address. Of the spec: `vectors`, `elements`,
// `access` (the most bytes of one), `load_stream` and `store_stream`.
#ifndef QUERN_ROWS_ELEMENTS_CUH_
#define QUERN_ROWS_ELEMENTS_CUH_

#include "common/numbers.cuh"
#include "common/slots.cuh"
#include "spec.cuh"

namespace quern::rows {

using namespace common;

constexpr int kElements = spec::elements;
constexpr int kStep = spec::vectors ? 1 : 32;
constexpr LoadHint kLoad = spec::load_stream ? LoadHint::stream : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

using Numbers = float[kElements];

// Elements of a row: its number, the first one's column, and the row's end; 0 if nothing is to be done. A vector has
// all of its elements or none.
struct Span {
  i64 row;
  int column;
  int end;
  QUERN_DEVICE bool has(int i) const { return column + (spec::vectors ? 0 : i * kStep) < end; }
};

template <class T>
QUERN_DEVICE const T* row_of(const void* base, i64 stride, const Span& at) {
  return static_cast<const T*>(base) + at.row * stride;
}
template <class T>
QUERN_DEVICE T* row_of(void* base, i64 stride, const Span& at) {
  return static_cast<T*>(base) + at.row * stride;
}

// An operand may have more bytes than an access for as many elements: pairs, and a wider bias.
template <int Bytes>
constexpr int kAccess = Bytes < spec::access ? Bytes : spec::access;

template <int Bytes, LoadHint H>
QUERN_DEVICE Vector<Bytes> read_bits(bool wanted, const void* from) {
  Vector<Bytes> bits = {};
#pragma unroll
  for (int i = 0; i < Bytes / kAccess<Bytes>; ++i)
    put_piece(bits, i, load_if<kAccess<Bytes>, H>(wanted, static_cast<const u8*>(from) + i * kAccess<Bytes>));
  return bits;
}
template <int Bytes>
QUERN_DEVICE void write_bits(bool wanted, void* to, const Vector<Bytes>& bits) {
#pragma unroll
  for (int i = 0; i < Bytes / kAccess<Bytes>; ++i)
    store_if<kAccess<Bytes>, kStore>(wanted, static_cast<u8*>(to) + i * kAccess<Bytes>,
                                     piece_of<kAccess<Bytes>>(bits, i));
}

template <class T>
QUERN_DEVICE Vector<sizeof(T)> bits_of(float value) {
  return bit_cast<Vector<sizeof(T)>>(from_compute<T>(value));
}

// As they are in memory: numbers are converted when they are used, and rounded once.
template <class T, bool Vectors = spec::vectors>
struct Single {
  static constexpr int kBytes = kElements * static_cast<int>(sizeof(T));
  Vector<kBytes> bits;
  static QUERN_DEVICE Single of(const Numbers& values) { return {pack<T, kElements>(values)}; }
  QUERN_DEVICE void values(Numbers& out) const { unpack<T, kElements>(bits, out); }
  template <LoadHint H = kLoad>
  QUERN_DEVICE void read(const T* row, const Span& at) {
    bits = read_bits<kBytes, H>(at.has(0), row + at.column);
  }
  QUERN_DEVICE void write(T* row, const Span& at) const { write_bits<kBytes>(at.has(0), row + at.column, bits); }
};

template <class T>
struct Single<T, false> {
  static constexpr int kBytes = sizeof(T);
  Vector<kBytes> bits[kElements];
  static QUERN_DEVICE Single of(const Numbers& values) {
    Single single;
#pragma unroll
    for (int i = 0; i < kElements; ++i) single.bits[i] = bits_of<T>(values[i]);
    return single;
  }
  QUERN_DEVICE void values(Numbers& out) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) out[i] = to_compute(bit_cast<T>(bits[i]));
  }
  template <LoadHint H = kLoad>
  QUERN_DEVICE void read(const T* row, const Span& at) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) bits[i] = load_if<kBytes, H>(at.has(i), row + at.column + i * kStep);
  }
  QUERN_DEVICE void write(T* row, const Span& at) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) store_if<kBytes, kStore>(at.has(i), row + at.column + i * kStep, bits[i]);
  }
};

template <class T>
QUERN_DEVICE void write(T* row, const Span& at, const Numbers& values) {
  Single<T>::of(values).write(row, at);
}

// Where slots are elements, those of a warp are its 32 lanes' of adjacent ones.
QUERN_DEVICE int column_of(const Slot& slot) {
  const u32 column = spec::vectors ? slot.column * kElements : slot.column / 32 * 32 * kElements + slot.column % 32;
  return static_cast<int>(column);
}

}  // namespace quern::rows

#endif  // QUERN_ROWS_ELEMENTS_CUH_
