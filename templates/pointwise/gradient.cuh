// What a thread does with its elements of a row in pass=backward: reads them all, then makes the gradients.
#ifndef QUERN_POINTWISE_GRADIENT_CUH_
#define QUERN_POINTWISE_GRADIENT_CUH_

#include "common/activations.cuh"
#include "pointwise/params.h"
#include "rows/elements.cuh"

namespace quern::pointwise {

using namespace common;
using namespace rows;

using KernelParams = BackwardParams;
using X = spec::X;
using Y = spec::Y;
using Bias = spec::Bias;
// The derivative of identity has no argument.
constexpr bool kHasArgument = spec::activation != Activation::identity;
constexpr bool kReadsY = spec::has_y && (kHasArgument || spec::multiplier_gradient);
constexpr bool kHasBias = kHasArgument && spec::bias_spread != Spread::none;
constexpr bool kBiasIsOne = kHasBias && (spec::bias_spread == Spread::column || spec::bias_spread == Spread::scalar);

// The bias of a thread's elements: a number each, or one for all of them.
struct BiasBits {
  Single<Bias> each;
  Vector<sizeof(Bias)> one;
};
QUERN_DEVICE BiasBits read_bias(const KernelParams& p, const Span& at) {
  const auto* const bias = static_cast<const Bias*>(p.bias);
  BiasBits bits;
  if constexpr (kBiasIsOne)
    bits.one = load_if<sizeof(Bias)>(at.has(0), bias + (spec::bias_spread == Spread::column ? at.row : 0));
  else if constexpr (kHasBias)
    bits.each.template read<LoadHint::plain>(
        spec::bias_spread == Spread::full ? row_of<Bias>(p.bias, p.width, at) : bias, at);
  return bits;
}

struct Inputs {
  Single<X> x;
  Single<Y> y;
  Single<spec::Output> gradient;
};

QUERN_DEVICE void read(const KernelParams& p, const Span& at, Inputs& o) {
  if constexpr (kHasArgument) o.x.read(row_of<X>(p.x, p.x_stride, at), at);
  if constexpr (kReadsY) o.y.read(row_of<Y>(p.y, p.y_stride, at), at);
  o.gradient.read(row_of<spec::Output>(p.gradient, p.gradient_stride, at), at);
}

// The gradients of x and y, as they are stored, and the products whose sum is the multiplier's.
struct Gradients {
  Single<X> x;
  Single<Y> y;
  Numbers products;
};

// As pointwise/forward.cuh computes it.
QUERN_DEVICE float argument(const KernelParams& p, float x, float y, float bias) {
  float z = x;
  if constexpr (spec::torch) {
    if constexpr (spec::has_y) z = round_to<spec::Sum>(z + round_to<Y>(p.multiplier * y));
    if constexpr (kHasBias) z = round_to<spec::Biased>(z + bias);
  } else {
    if constexpr (spec::has_y) z = fmaf(p.multiplier, y, z);
    if constexpr (kHasBias) z += bias;
  }
  return z;
}

template <bool Torch>
struct RoundingHere {
  // Exact enough for the wider of x and y.
  using Type = RoundingOf<(spec::has_y && sizeof(Y) > sizeof(X) ? sizeof(Y) : sizeof(X))>::Type;
};
template <>
struct RoundingHere<true> {
  using Type = RoundTo<spec::Biased>;
};
using Round = RoundingHere<spec::torch>::Type;

QUERN_DEVICE float gradient_of_y(const KernelParams& p, float of_sum) {
  if constexpr (spec::torch) return round_to<Y>(p.multiplier * round_to<Y>(of_sum));
  return p.multiplier * of_sum;
}

QUERN_DEVICE void make_gradients(const KernelParams& p, const Inputs& o, const BiasBits& bits, Gradients& made) {
  Numbers x = {}, y = {}, bias = {}, gradient;
  if constexpr (kHasArgument) o.x.values(x);
  if constexpr (kReadsY) o.y.values(y);
  if constexpr (kHasBias && !kBiasIsOne) bits.each.values(bias);
  o.gradient.values(gradient);
  Numbers of_x, of_y;
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    if constexpr (kBiasIsOne) bias[i] = to_compute(bit_cast<Bias>(bits.one));
    const float z = kHasArgument ? argument(p, x[i], y[i], bias[i]) : 0.0f;
    const float of_out = spec::torch ? round_to<spec::Biased>(gradient[i]) : gradient[i];
    of_x[i] = activate_gradient<spec::activation>(z, p.alpha, of_out, Round());
    of_y[i] = gradient_of_y(p, of_x[i]);
  }
  if constexpr (spec::has_y) made.y = Single<Y>::of(of_y);
  made.x = Single<X>::of(of_x);
  made.x.values(of_x);
#pragma unroll
  for (int i = 0; i < kElements; ++i) made.products[i] = of_x[i] * y[i];
}

QUERN_DEVICE void write_gradients(const KernelParams& p, const Span& at, const Gradients& made) {
  made.x.write(row_of<X>(p.x_gradient, p.x_stride, at), at);
  if constexpr (spec::has_y) made.y.write(row_of<Y>(p.y_gradient, p.y_stride, at), at);
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_GRADIENT_CUH_
