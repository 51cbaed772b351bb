// Three forms, all of kElements elements a slot. `rows`: rows, strides and addresses are multiples of a slot. `flat`:
// packed operands of any row length seen as one long row, so that slots straddle rows; broadcasts are looked up element
// by element. `ragged`: any element-aligned rows; slots are aligned to out, and the other operands are realigned.
#include "common/activations.cuh"
#include "common/numbers.cuh"
#include "common/realign.cuh"
#include "common/slots.cuh"
#include "pointwise/params.h"
#include "spec.cuh"

namespace quern::pointwise {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

constexpr int kElements = spec::elements;
constexpr LoadHint kLoad = spec::load_stream ? LoadHint::stream : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

// Where a slot is: its first element's row and column, and how many of its elements exist from `begin` to `end`.
struct Place {
  u64 row;
  i64 column;
  int begin;
  int end;
};

template <class T>
__device__ __forceinline__ float element(const T* from) {
  return to_compute(bit_cast<T>(load<sizeof(T), LoadHint::plain>(from)));
}

template <class T>
__device__ __forceinline__ void load_elements(const T* from, const Place& at, float (&values)[kElements]) {
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    values[i] = 0;
    if (i >= at.begin && i < at.end) values[i] = element(from + i);
  }
}

template <class T, LoadHint H>
__device__ __forceinline__ void load_vector(const T* from, float (&values)[kElements]) {
  unpack<T, kElements>(load<sizeof(T) * kElements, H>(from), values);
}

// Two aligned reads, shifted together. `row` is the address of the row and `width` its elements: nothing outside is read.
template <class T>
__device__ __forceinline__ bool load_realigned(const T* from, const T* row, i64 width, float (&values)[kElements]) {
  if constexpr (sizeof(T) * kElements != 16) {
    return false;
  } else {
    const u32 offset = reinterpret_cast<u64>(from) & 15;
    const u8* const aligned = reinterpret_cast<const u8*>(from) - offset;
    const bool inside = aligned >= reinterpret_cast<const u8*>(row) &&
                        aligned + 32 <= reinterpret_cast<const u8*>(row + width);
    if (!inside) return false;
    unpack<T, kElements>(realign(load<16, LoadHint::plain>(aligned), load<16, LoadHint::plain>(aligned + 16), offset), values);
    return true;
  }
}

// A full operand at a slot.
template <class T>
__device__ __forceinline__ void load_full(const void* base, i64 stride, const Params& p, const Place& at,
                                          float (&values)[kElements]) {
  const T* const row = static_cast<const T*>(base) + at.row * stride;
  const T* const from = row + at.column;
  if (at.begin > 0 || at.end < kElements) return load_elements(from, at, values);
  if constexpr (spec::ragged) {
    if (reinterpret_cast<u64>(from) % (sizeof(T) * kElements) == 0) return load_vector<T, kLoad>(from, values);
    if (!load_realigned(from, row, p.width, values)) load_elements(from, at, values);
  } else {
    load_vector<T, kLoad>(from, values);
  }
}

// One value for each row or column, where slots straddle rows: the true row and column of each element.
template <class T, Spread S>
__device__ __forceinline__ void load_periodic(const T* from, const Params& p, const Place& at,
                                              float (&values)[kElements]) {
  i64 row = static_cast<i64>(divide(at.column, p.by_period));
  i64 column = at.column - row * p.period;
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    values[i] = i < at.end ? element(from + (S == Spread::row ? column : row)) : 0;
    const bool wraps = ++column == p.period;
    row += wraps;
    column = wraps ? 0 : column;
  }
}

template <class T, Spread S>
__device__ __forceinline__ void load_operand(const void* base, i64 stride, const Params& p, const Place& at,
                                             float (&values)[kElements]) {
  const T* const from = static_cast<const T*>(base);
  if constexpr (S == Spread::full) {
    load_full<T>(base, stride, p, at, values);
  } else if constexpr (S == Spread::scalar || (S == Spread::column && !spec::flat)) {
    const float value = element(S == Spread::scalar ? from : from + at.row);
#pragma unroll
    for (int i = 0; i < kElements; ++i) values[i] = value;
  } else if constexpr (S != Spread::none) {
    if constexpr (spec::flat) {
      load_periodic<T, S>(from, p, at, values);
    } else if constexpr (spec::ragged) {
      load_elements(from + at.column, at, values);
    } else {
      load_vector<T, LoadHint::plain>(from + at.column, values);
    }
  }
}

// The operands of one slot.
struct Operands {
  float x[kElements];
  float y[kElements];
  float bias[kElements];
};

__device__ __forceinline__ void load_operands(const Params& p, const Place& at, Operands& o) {
  load_operand<spec::X, spec::x_spread>(p.x, p.x_stride, p, at, o.x);
  if constexpr (spec::has_y) load_operand<spec::Y, spec::y_spread>(p.y, p.y_stride, p, at, o.y);
  load_operand<spec::Bias, spec::bias_spread>(p.bias, p.period, p, at, o.bias);
}

__device__ __forceinline__ float compute(const Params& p, float x, float y, float bias) {
  float z = x;
  if constexpr (spec::torch) {
    if constexpr (spec::has_y) z = round_to<spec::Sum>(z + round_to<spec::Y>(p.multiplier * y));
    if constexpr (spec::bias_spread != Spread::none) z = round_to<spec::Biased>(z + bias);
    return round_to<spec::Biased>(activate<spec::activation>(z, p.alpha, RoundTo<spec::Biased>()));
  } else {
    if constexpr (spec::has_y) z = fmaf(p.multiplier, y, z);
    if constexpr (spec::bias_spread != Spread::none) z += bias;
    return activate<spec::activation>(z, p.alpha, NoRounding());
  }
}

__device__ __forceinline__ void store_slot(const Params& p, const Place& at, const Operands& o) {
  using T = spec::Output;
  float values[kElements];
#pragma unroll
  for (int i = 0; i < kElements; ++i) values[i] = compute(p, o.x[i], o.y[i], o.bias[i]);
  T* const to = static_cast<T*>(p.out) + at.row * p.out_stride + at.column;
  if (at.begin == 0 && at.end == kElements) {
    store<sizeof(T) * kElements, kStore>(to, pack<T, kElements>(values));
    return;
  }
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const T value = from_compute<T>(values[i]);
    if (i >= at.begin && i < at.end) store<sizeof(T), StoreHint::plain>(to + i, bit_cast<Vector<sizeof(T)>>(value));
  }
}

// Ragged slots start where out is aligned, up to a slot before the row.
__device__ __forceinline__ Place place(const Params& p, const Slot& slot) {
  u64 row = spec::flat ? 0 : slot.row;
  i64 column = static_cast<i64>(spec::flat ? slot.index : slot.column) * kElements;
  if constexpr (spec::ragged) {
    const u64 address = reinterpret_cast<u64>(static_cast<spec::Output*>(p.out) + row * p.out_stride);
    column -= static_cast<i64>(address % (sizeof(spec::Output) * kElements) / sizeof(spec::Output));
  }
  const i64 left = slot.inside ? p.width - column : 0;
  return {row, column, column < 0 ? static_cast<int>(-column) : 0,
          left >= kElements ? kElements : left < 0 ? 0 : static_cast<int>(left)};
}

__device__ __forceinline__ void run(const Params& p) {
  const Tile<spec::unroll> tile(p.slots);
  Operands operands[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) load_operands(p, place(p, tile[i]), operands[i]);
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) store_slot(p, place(p, tile[i]), operands[i]);
}

}  // namespace quern::pointwise

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_pointwise(const __grid_constant__ quern::pointwise::Params params) {
  quern::pointwise::run(params);
}
