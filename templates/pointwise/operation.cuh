// What the kernel computes of one element: act(x + bias) or act(x + multiplier * y + bias). It gives forward.cuh the
// inputs, the outputs, and `compute`.
#ifndef QUERN_POINTWISE_OPERATION_CUH_
#define QUERN_POINTWISE_OPERATION_CUH_

#include "common/activations.cuh"
#include "common/numbers.cuh"
#include "pointwise/params.h"
#include "spec.cuh"

namespace quern::pointwise {

using namespace common;

using KernelParams = Params;

constexpr int kInputs = 3, kOutputs = 1;
constexpr int kAligned = 0;  // the output that ragged slots are aligned to
enum { kX, kY, kBias };

template <int I>
struct Input;
template <>
struct Input<kX> {
  using Type = spec::X;
  static constexpr Spread kSpread = spec::x_spread;
  QUERN_DEVICE static const void* base(const KernelParams& p) { return p.x; }
  QUERN_DEVICE static i64 stride(const KernelParams& p) { return p.x_stride; }
};
template <>
struct Input<kY> {
  using Type = spec::Y;
  static constexpr Spread kSpread = spec::y_spread;
  QUERN_DEVICE static const void* base(const KernelParams& p) { return p.y; }
  QUERN_DEVICE static i64 stride(const KernelParams& p) { return p.y_stride; }
};
template <>
struct Input<kBias> {
  using Type = spec::Bias;
  static constexpr Spread kSpread = spec::bias_spread;
  QUERN_DEVICE static const void* base(const KernelParams& p) { return p.bias; }
  QUERN_DEVICE static i64 stride(const KernelParams& p) { return p.period; }
};

template <int I>
struct Output;
template <>
struct Output<0> {
  using Type = spec::Output;
  QUERN_DEVICE static void* base(const KernelParams& p) { return p.out; }
  QUERN_DEVICE static i64 stride(const KernelParams& p) { return p.out_stride; }
};

// The `single` contract: the stored type decides how exact an activation must be.
using Single = RoundingOf<sizeof(spec::Output)>::Type;

QUERN_DEVICE void compute(const KernelParams& p, const float (&in)[kInputs], float (&out)[kOutputs]) {
  float z = in[kX];
  if constexpr (spec::torch) {
    if constexpr (spec::has_y) z = round_to<spec::Sum>(z + round_to<spec::Y>(p.multiplier * in[kY]));
    if constexpr (spec::bias_spread != Spread::none) z = round_to<spec::Biased>(z + in[kBias]);
    out[0] = round_to<spec::Biased>(activate<spec::activation>(z, p.alpha, RoundTo<spec::Biased>()));
  } else {
    if constexpr (spec::has_y) z = fmaf(p.multiplier, in[kY], z);
    if constexpr (spec::bias_spread != Spread::none) z += in[kBias];
    out[0] = activate<spec::activation>(z, p.alpha, Single());
  }
}

}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_OPERATION_CUH_
