// What a thread does with its elements of a row: reads them all, then makes out or the gradients.
#ifndef QUERN_GLU_ELEMENTS_CUH_
#define QUERN_GLU_ELEMENTS_CUH_

#include "glu/access.cuh"

namespace quern::glu {

using T = spec::T;
constexpr GluLayout kLayout = spec::layout;
constexpr GluLayout kBiasLayout = kLayout == GluLayout::split ? GluLayout::halves : kLayout;

template <bool Torch>
struct RoundingHere {
  using Type = RoundingOf<sizeof(T)>::Type;
};
template <>
struct RoundingHere<true> {
  using Type = RoundTo<T>;
};
using Round = RoundingHere<spec::torch>::Type;
using Formula = Gated<spec::activation, spec::gating, Round>;

// The bias of a thread's elements, which has no rows.
struct BiasBits {
  Pairs<spec::Bias, kBiasLayout> bits;
};
QUERN_DEVICE BiasBits read_bias(const Params& p, const Span& at) {
  BiasBits bias;
  if constexpr (spec::has_bias) {
    const auto* const row = static_cast<const spec::Bias*>(p.bias);
    bias.bits.template read<LoadHint::plain>(p, {row, row}, at);
  }
  return bias;
}

// What a thread reads for its elements of a row.
struct Operands {
  Pairs<T, kLayout> x;
  Single<T> gradient;
  Vector<sizeof(spec::Scale)> scale;
};

QUERN_DEVICE void read(const Params& p, const Span& at, Operands& o) {
  const T* const x = row_of<T>(p.x, p.x_stride, at);
  const T* const gate = kLayout == GluLayout::split ? row_of<T>(p.gate, p.x_stride, at) : x;
  o.x.template read<kLoad>(p, {x, gate}, at);
  if constexpr (spec::backward) o.gradient.read(row_of<T>(p.gradient, p.gradient_stride, at), at);
  if constexpr (spec::has_scale)
    o.scale = load_if<sizeof(spec::Scale)>(at.has(0), static_cast<const spec::Scale*>(p.scale) + at.row);
}

// x with the bias, as numbers.
QUERN_DEVICE void arguments(const Operands& o, const BiasBits& bias, Numbers& a, Numbers& g) {
  o.x.values(a, g);
  if constexpr (spec::has_bias) {
    Numbers bias_a, bias_g;
    bias.bits.values(bias_a, bias_g);
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      a[i] = Round()(a[i] + bias_a[i]);
      g[i] = Round()(g[i] + bias_g[i]);
    }
  }
}

QUERN_DEVICE float scale_of(const Operands& o) {
  if constexpr (spec::has_scale)
    return to_compute(bit_cast<spec::Scale>(o.scale));
  else
    return 1.0f;
}

QUERN_DEVICE float scaled(float value, float scale) {
  if constexpr (spec::has_scale)
    return value * scale;
  else
    return value;
}

// ---- What is made of them

QUERN_DEVICE float product(const Formula& formula, float a, float g) {
  return Round()(formula.activated(a) * formula.gate(g));
}

QUERN_DEVICE void make_out(const Params& p, const Operands& o, const BiasBits& bias, Numbers& out) {
  const Formula formula{p.numbers};
  Numbers a, g;
  arguments(o, bias, a, g);
#pragma unroll
  for (int i = 0; i < kElements; ++i) out[i] = scaled(product(formula, a[i], g[i]), scale_of(o));
}

// The gradients of a and g, the products whose sum is the gradient of the row's scale, and out.
struct Gradients {
  Numbers a;
  Numbers g;
  Numbers products;
  Numbers out;
};

QUERN_DEVICE void make_gradients(const Params& p, const Operands& o, const BiasBits& bias, Gradients& made) {
  const Formula formula{p.numbers};
  Numbers a, g, gradient;
  arguments(o, bias, a, g);
  o.gradient.values(gradient);
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    const float activated = formula.activated(a[i]), gate = formula.gate(g[i]);
    const float product = Round()(activated * gate), of_product = Round()(scaled(gradient[i], scale_of(o)));
    made.out[i] = scaled(product, scale_of(o));
    made.products[i] = gradient[i] * product;
    made.a[i] = formula.gradient_of_a(a[i], Round()(of_product * gate));
    made.g[i] = formula.gradient_of_g(g[i], Round()(of_product * activated));
  }
}

QUERN_DEVICE void write_out(const Params& p, const Span& at, const Numbers& out) {
  write<T>(row_of<T>(p.out, p.out_stride, at), at, out);
}

// `To` is the type of x_gradient.
template <class To>
QUERN_DEVICE void write_pairs(const Params& p, const Span& at, const Pairs<To, kLayout>& pairs) {
  To* const x_gradient = row_of<To>(p.x_gradient, p.x_gradient_stride, at);
  To* const gate_gradient =
      kLayout == GluLayout::split ? row_of<To>(p.gate_gradient, p.x_gradient_stride, at) : x_gradient;
  pairs.write(p, {x_gradient, gate_gradient}, at);
}
template <class To>
QUERN_DEVICE void write_gradients(const Params& p, const Span& at, const Gradients& made) {
  write_pairs<To>(p, at, Pairs<To, kLayout>::of(made.a, made.g));
  if constexpr (spec::recompute) write_out(p, at, made.out);
}

// Whether a row is one that its group has.
QUERN_DEVICE bool is_counted(const Params& p, i64 row) {
  if constexpr (!spec::has_counts) return true;
  const u64 group = divide(static_cast<u64>(row), p.by_rows);
  const i64 first = static_cast<i64>(group) * p.group_rows;
  const auto count =
      bit_cast<spec::Count>(load<sizeof(spec::Count)>(static_cast<const spec::Count*>(p.counts) + group));
  return row - first < static_cast<i64>(count);
}

}  // namespace quern::glu

#endif  // QUERN_GLU_ELEMENTS_CUH_
