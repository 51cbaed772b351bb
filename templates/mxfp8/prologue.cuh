// The values to quantize: source, or a prologue's result from it and from input, rounded to source's type. Another file
// with the same names may be included before the forms instead: glu/numbers.cuh.
#ifndef QUERN_MXFP8_PROLOGUE_CUH_
#define QUERN_MXFP8_PROLOGUE_CUH_

#include "common/activations.cuh"
#include "mxfp8/source.cuh"

namespace quern::mxfp8 {

using Rounding = RoundingOf<sizeof(Source)>::Type;

QUERN_DEVICE float value_of(const Params& p, float x) { return activate<spec::activation>(x, p.alpha, Rounding()); }
QUERN_DEVICE float derivative_of(const Params& p, float x) {
  return activate_derivative<spec::activation>(x, p.alpha, Rounding());
}

QUERN_DEVICE Word input_at(const Params& p, const SourceRow& row, i64 column) {
  return load<spec::vector>(static_cast<const Source*>(p.input) + row.index * p.cols + column);
}

// The inputs of one vector of numbers.
template <int Count>
struct InputsOf {
  Word words[Count];
};

// `read` fetches the inputs of a vector, `number` computes one number from them.
template <Prologue>
struct PrologueOf {
  static constexpr int kInputs = 1;
  static QUERN_DEVICE InputsOf<1> read(const Params& p, const SourceRow& row, i64 column) {
    return {{source_at(p, row, column)}};
  }
  static QUERN_DEVICE float number(const Params&, const float (&x)[1], i64) { return x[0]; }
};

template <>
struct PrologueOf<Prologue::act> : PrologueOf<Prologue::none> {
  static QUERN_DEVICE float number(const Params& p, const float (&x)[1], i64) { return value_of(p, x[0]); }
};

template <>
struct PrologueOf<Prologue::gated> {
  static constexpr int kInputs = 2;
  static QUERN_DEVICE InputsOf<2> read(const Params& p, const SourceRow& row, i64 column) {
    return {{source_at(p, row, column), source_at(p, row, p.cols + column)}};
  }
  static QUERN_DEVICE float number(const Params& p, const float (&x)[2], i64) {
    return gate<spec::activation>(value_of(p, x[0]), x[1]);
  }
};

template <>
struct PrologueOf<Prologue::dact> {
  static constexpr int kInputs = 2;
  static QUERN_DEVICE InputsOf<2> read(const Params& p, const SourceRow& row, i64 column) {
    return {{source_at(p, row, column), input_at(p, row, column)}};
  }
  static QUERN_DEVICE float number(const Params& p, const float (&x)[2], i64) { return x[0] * derivative_of(p, x[1]); }
};

// Columns of the first half are gradients of the activation's argument. The others are those of the gate, which do not
// need the gate: they read the argument once more in its place.
template <>
struct PrologueOf<Prologue::dgated> {
  static constexpr int kInputs = 3;
  static QUERN_DEVICE InputsOf<3> read(const Params& p, const SourceRow& row, i64 column) {
    const i64 half = p.cols / 2, argument = column < half ? column : column - half;
    return {{source_at(p, row, argument), input_at(p, row, argument),
             input_at(p, row, column < half ? half + column : argument)}};
  }
  static QUERN_DEVICE float of_argument(const Params& p, const float (&x)[3]) {
    return x[0] * derivative_of(p, x[1]) * x[2];
  }
  static QUERN_DEVICE float of_gate(const Params& p, const float (&x)[3]) { return x[0] * value_of(p, x[1]); }
  static QUERN_DEVICE float number(const Params& p, const float (&x)[3], i64 column) {
    return column < p.cols / 2 ? of_argument(p, x) : of_gate(p, x);
  }
};

// A form's parameters, with those of what makes the values.
template <class Form>
using WithInputs = Form;

using Made = PrologueOf<spec::prologue>;
constexpr bool kMakes = spec::prologue != Prologue::none;  // else numbers are read
constexpr int kInputs = Made::kInputs;
using Inputs = InputsOf<kInputs>;

template <class Number>
QUERN_DEVICE Word made_of(const Inputs& inputs, const Number& number) {
  constexpr int kCount = spec::vector / sizeof(Source);
  float in[kInputs][kCount], out[kCount];
#pragma unroll
  for (int k = 0; k < kInputs; ++k) unpack<Source, kCount>(inputs.words[k], in[k]);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    float x[kInputs];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) x[k] = in[k][i];
    out[i] = number(x);
  }
  return pack<Source, kCount>(out);
}

// Rounded to source's type. `column`: of the vector's first.
QUERN_DEVICE Word numbers_of(const Params& p, const Inputs& inputs, i64 column) {
  if constexpr (!kMakes) return inputs.words[0];
  return made_of(inputs, [&](const float(&x)[kInputs]) { return Made::number(p, x, column); });
}

// Both gradients of dgated. `column`: of the first half.
template <class M = Made>
QUERN_DEVICE void halves_of(const Params& p, const Inputs& inputs, i64, Word (&halves)[2]) {
  halves[0] = made_of(inputs, [&](const float(&x)[kInputs]) { return M::of_argument(p, x); });
  halves[1] = made_of(inputs, [&](const float(&x)[kInputs]) { return M::of_gate(p, x); });
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_PROLOGUE_CUH_
