// Results in fp8: each is rounded to the type of x, multiplied by the reciprocal of its scale, and rounded once more.
#ifndef QUERN_GLU_QUANTIZE_CUH_
#define QUERN_GLU_QUANTIZE_CUH_

#include "common/scaling.cuh"
#include "glu/elements.cuh"
#include "mx/scale_places.cuh"

namespace quern::glu {

using Element = spec::Element;
using Scaling = ScalingOf<spec::scale_format, Element, spec::mode, spec::policy>::Type;
using Scale = Vector<Scaling::kBytes>;  // as it is stored

// Whether an element has two adjacent numbers in a line of the result.
constexpr bool kPairs = spec::backward && kLayout == GluLayout::interleaved;
constexpr int kNumbersOfElement = kPairs ? 2 : 1;

QUERN_DEVICE float given_reciprocal(const Params& p) {
  return 1.0f / bit_cast<float>(load<4, LoadHint::keep>(p.given_scale));
}

// Results as they are stored without a scale, in the type of x.
using Rounded = Single<T>;

// Zeros beyond the end of the row, element by element.
QUERN_DEVICE Rounded rounded(const Span& at, const Numbers& x) {
  Numbers within;
#pragma unroll
  for (int i = 0; i < kElements; ++i) within[i] = spec::vectors || at.has(i) ? x[i] : 0.0f;
  return Rounded::of(within);
}

QUERN_DEVICE u32 larger(u32 a, u32 b) { return a > b ? a : b; }

// The largest magnitude of a vector, or of the `Count` elements from `first` on.
template <int Count, int Bytes>
QUERN_DEVICE u32 magnitude_in(const Vector<Bytes>& vector, int) {
  u32 m = 0;
#pragma unroll
  for (int w = 0; w < Vector<Bytes>::kWords; ++w)
    m = Magnitudes<T>::larger(m, magnitudes<T, spec::policy>(static_cast<u32>(vector.w[w])));
  return m;
}
template <int Count, int Bytes, int N>
QUERN_DEVICE u32 magnitude_in(const Vector<Bytes> (&elements)[N], int first) {
  u32 m = 0;
#pragma unroll
  for (int k = 0; k < Count; ++k) m = Magnitudes<T>::larger(m, magnitude_in<1>(elements[first + k], 0));
  return m;
}

// As fp32's bits.
template <int Count>
QUERN_DEVICE u32 magnitude_of(const Span& at, const Rounded& x, int first) {
  const u32 m = Magnitudes<T>::as_fp32(Magnitudes<T>::fold(magnitude_in<Count>(x.bits, first)));
  return spec::vectors && !at.has(0) ? 0 : m;
}

template <int Count>
QUERN_DEVICE void multiply(Numbers& x, int first, float factor) {
#pragma unroll
  for (int k = 0; k < Count; ++k) x[first + k] *= factor;
}

QUERN_DEVICE void write_scale(const Params& p, i64 at, u32 scale) {
  store<Scaling::kBytes>(static_cast<u8*>(p.scales) + at * Scaling::kBytes,
                         Scale{{static_cast<typename Scale::Word>(scale)}});
}

}  // namespace quern::glu

#endif  // QUERN_GLU_QUANTIZE_CUH_
