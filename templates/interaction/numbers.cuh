// What all forms share: the type of the numbers, and columns of 16 bytes of a row at any address.
#ifndef QUERN_INTERACTION_NUMBERS_CUH_
#define QUERN_INTERACTION_NUMBERS_CUH_

#include "common/any_address.cuh"
#include "common/numbers.cuh"
#include "common/shared.cuh"
#include "interaction/params.h"
#include "spec.cuh"

namespace quern::interaction {

using namespace common;
using Number = spec::Number;
constexpr int kSize = static_cast<int>(sizeof(Number));
constexpr int kOfColumn = 16 / kSize;  // numbers
constexpr u32 kAllLanes = 0xffffffffu;

// A column of aligned rows is one access. Of others it is two blocks, of which the lanes beside read one too.
constexpr LoadHint kLoad = spec::whole ? LoadHint::once : LoadHint::plain;
constexpr StoreHint kStore = StoreHint::stream;

// What a column is until it is used, so that several are on their way.
template <bool Whole>
struct Pending {
  Vector<16> bits;
};
template <>
struct Pending<false> {
  ColumnBits bits;
};

template <bool Whole>
QUERN_DEVICE Pending<Whole> begin_column(bool wanted, const u8* at, const Readable& bytes) {
  if constexpr (Whole) {
    return {load_if<16, kLoad>(wanted, at)};
  } else {
    return {read_column<LoadHint::plain>(wanted, at, bytes)};
  }
}

// Zeros beyond the first `left` bytes; all of them where there are 16 or more.
QUERN_DEVICE Vector<16> first_bytes(Vector<16> column, int left) {
  QUERN_UNROLL for (int w = 0; w < 4; ++w) {
    const int kept = left - 4 * w;
    column.w[w] = kept >= 4 ? column.w[w] : kept == 2 ? column.w[w] & 0xffffu : 0;
  }
  return column;
}

// Its numbers within the row, of which `left` bytes begin at the column; zeros after them.
template <bool Whole>
QUERN_DEVICE Vector<16> end_column(const Pending<Whole>& column, const u8* at, const Readable& bytes, int left) {
  if constexpr (Whole) {
    return column.bits;
  } else {
    return first_bytes(value_of<kSize>(column.bits, at, bytes), left);
  }
}

QUERN_DEVICE float load_number(bool wanted, const u8* at) {
  return to_float(bit_cast<Number>(load_if<kSize, LoadHint::plain>(wanted, at)));
}

QUERN_DEVICE Readable source_bytes(const Params& p) { return {p.source, p.source_end}; }
QUERN_DEVICE Readable gradient_bytes(const Params& p) { return {p.gradient, p.gradient_end}; }

}  // namespace quern::interaction

#endif  // QUERN_INTERACTION_NUMBERS_CUH_
