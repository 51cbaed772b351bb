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

QUERN_DEVICE const Source* input_address(const Params& p, const SourceRow& row, i64 column) {
  return static_cast<const Source*>(p.input) + row.index * p.cols + column;
}

// The inputs of one vector of numbers.
template <int Count>
struct InputsOf {
  Word words[Count];
};

// `find` says where the inputs of a vector are, `number` computes one number from them.
template <Prologue>
struct PrologueOf {
  static constexpr int kInputs = 1;
  static QUERN_DEVICE void find(const Params& p, const SourceRow& row, i64 column, const Source* (&at)[1]) {
    at[0] = source_address(p, row, column);
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
  static QUERN_DEVICE void find(const Params& p, const SourceRow& row, i64 column, const Source* (&at)[2]) {
    at[0] = source_address(p, row, column);
    at[1] = source_address(p, row, p.cols + column);
  }
  static QUERN_DEVICE float number(const Params& p, const float (&x)[2], i64) {
    return gate<spec::activation>(value_of(p, x[0]), x[1]);
  }
};

template <>
struct PrologueOf<Prologue::dact> {
  static constexpr int kInputs = 2;
  static QUERN_DEVICE void find(const Params& p, const SourceRow& row, i64 column, const Source* (&at)[2]) {
    at[0] = source_address(p, row, column);
    at[1] = input_address(p, row, column);
  }
  static QUERN_DEVICE float number(const Params& p, const float (&x)[2], i64) { return x[0] * derivative_of(p, x[1]); }
};

// Columns of the first half are gradients of the activation's argument. The others are those of the gate, which do not
// need the gate: they read the argument once more in its place.
template <>
struct PrologueOf<Prologue::dgated> {
  static constexpr int kInputs = 3;
  static QUERN_DEVICE void find(const Params& p, const SourceRow& row, i64 column, const Source* (&at)[3]) {
    const i64 half = p.cols / 2, argument = column < half ? column : column - half;
    at[0] = source_address(p, row, argument);
    at[1] = input_address(p, row, argument);
    at[2] = input_address(p, row, column < half ? half + column : argument);
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

// Calls take(where an input is, its place in `inputs`) for each input of a vector.
template <class Take>
QUERN_DEVICE void for_inputs(const Params& p, const SourceRow& row, i64 column, Inputs& inputs, Take& take) {
  const Source* at[kInputs];
  Made::find(p, row, column, at);
#pragma unroll
  for (int k = 0; k < kInputs; ++k) take(at[k], inputs.words[k]);
}

QUERN_DEVICE Inputs inputs_at(const Params& p, const SourceRow& row, i64 column) {
  Inputs inputs;
  Read read;
  for_inputs(p, row, column, inputs, read);
  return inputs;
}

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
