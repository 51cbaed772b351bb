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

// As results are stored without a scale; zeros beyond the end of the row.
QUERN_DEVICE void round_numbers(const Span& at, Numbers& x) {
#pragma unroll
  for (int i = 0; i < kElements; ++i) x[i] = at.has(i) ? round_to<T>(x[i]) : 0.0f;
}

QUERN_DEVICE u32 larger(u32 a, u32 b) { return a > b ? a : b; }

// The largest magnitude among `Count` numbers from `first` on, as bits.
template <int Count>
QUERN_DEVICE u32 magnitude_of(const Numbers& x, int first) {
  u32 m = 0;
#pragma unroll
  for (int k = 0; k < Count; ++k) m = larger(m, magnitudes<float, spec::policy>(bit_cast<u32>(x[first + k])));
  return m;
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
