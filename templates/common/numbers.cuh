#ifndef QUERN_COMMON_NUMBERS_CUH_
#define QUERN_COMMON_NUMBERS_CUH_

#include "common/bf16.cuh"
#include "common/e4m3.cuh"
#include "common/e5m2.cuh"
#include "common/e8m0.cuh"
#include "common/fp16.cuh"
#include "common/int8.cuh"
#include "common/vector.cuh"

namespace quern::common {

// A type that is computed in as it is stored.
template <class T>
struct NativeNumber {
  using Compute = T;
  static constexpr int kPerConversion = 1;
  static QUERN_DEVICE T decode(T value) { return value; }
  static QUERN_DEVICE T encode(T value) { return value; }
};

// A small storage type that is computed in float.
template <class T>
struct SmallNumber {
  using Compute = float;
  static constexpr int kPerConversion = 2;
  static QUERN_DEVICE float decode(T value) { return T::decode(value.bits); }
  static QUERN_DEVICE T encode(float value) { return {T::encode(value)}; }
};

// The table of number types: one row each.
template <class T>
struct NumberOf;
// clang-format off
template <> struct NumberOf<double> : NativeNumber<double> {};
template <> struct NumberOf<float> : NativeNumber<float> {};
template <> struct NumberOf<Fp16> : SmallNumber<Fp16> {};
template <> struct NumberOf<Bf16> : SmallNumber<Bf16> {};
template <> struct NumberOf<E4m3> : SmallNumber<E4m3> {};
template <> struct NumberOf<E5m2> : SmallNumber<E5m2> {};
template <> struct NumberOf<Int8> : SmallNumber<Int8> {};  // decodes only
template <> struct NumberOf<E8m0> : SmallNumber<E8m0> {};  // decodes only: rounding has named functions
// clang-format on

template <class T>
using ComputeOf = typename NumberOf<T>::Compute;

// Exact.
template <class T>
QUERN_DEVICE ComputeOf<T> to_compute(T value) {
  return NumberOf<T>::decode(value);
}

template <class T>
QUERN_DEVICE float to_float(T value) {
  static_assert(sizeof(ComputeOf<T>) == sizeof(float), "a double does not fit a float");
  return NumberOf<T>::decode(value);
}

// One rounding, to nearest even. NaN stays NaN; beyond the largest value fp16 and bf16 give infinity, fp8 saturates.
template <class T>
QUERN_DEVICE T from_compute(ComputeOf<T> value) {
  return NumberOf<T>::encode(value);
}

template <class T>
QUERN_DEVICE ComputeOf<T> round_to(ComputeOf<T> value) {
  return to_compute(from_compute<T>(value));
}

// `round_to` as an object, and its absence: arguments of `activate`.
template <class T>
struct RoundTo {
  QUERN_DEVICE ComputeOf<T> operator()(ComputeOf<T> value) const { return round_to<T>(value); }
};

struct NoRounding {
  QUERN_DEVICE float operator()(float value) const { return value; }
};

// Two at once, `lo` at the lower address.
template <class T>
QUERN_DEVICE typename T::Pair pack2(float lo, float hi) {
  return T::encode2(lo, hi);
}

template <class T>
QUERN_DEVICE void unpack2(typename T::Pair pair, float& lo, float& hi) {
  T::decode2(pair, lo, hi);
}

template <class T, int N>
QUERN_DEVICE void unpack(const Vector<N* static_cast<int>(sizeof(T))>& vector, ComputeOf<T> (&out)[N]) {
  if constexpr (NumberOf<T>::kPerConversion == 1) {
    memcpy(out, &vector, sizeof(vector));
  } else if constexpr (N == 1) {
    out[0] = T::decode(vector.w[0]);
  } else {
    QUERN_UNROLL for (int i = 0; i < N; i += 2)
        T::decode2(code_at<typename T::Pair>(vector, i / 2), out[i], out[i + 1]);
  }
}

template <class T, int N>
QUERN_DEVICE Vector<N* static_cast<int>(sizeof(T))> pack(const ComputeOf<T> (&in)[N]) {
  Vector<N* static_cast<int>(sizeof(T))> vector = {};
  if constexpr (NumberOf<T>::kPerConversion == 1) {
    memcpy(&vector, in, sizeof(vector));
  } else if constexpr (N == 1) {
    vector.w[0] = T::encode(in[0]);
  } else {
    QUERN_UNROLL for (int i = 0; i < N; i += 2) put_code(vector, i / 2, T::encode2(in[i], in[i + 1]));
  }
  return vector;
}

}  // namespace quern::common

#endif  // QUERN_COMMON_NUMBERS_CUH_
