// What mxfp8's tiles quantize: the results of glu, where a prologue of mxfp8 would be. The columns of a matrix are
// those of out, backward of x_gradient.
#ifndef QUERN_GLU_NUMBERS_CUH_
#define QUERN_GLU_NUMBERS_CUH_

#include "glu/elements.cuh"
#include "glu/matrix_params.cuh"
#include "mxfp8/source.cuh"

namespace quern::glu {

constexpr int kNumbers = spec::vector / static_cast<int>(sizeof(T));  // of a vector
constexpr bool kMakesPairs = spec::backward && kLayout == GluLayout::interleaved;
static_assert(kElements == (kMakesPairs && kNumbers > 1 ? kNumbers / 2 : kNumbers), "the numbers of a vector");

// The elements whose gradients a vector has, and whether these are a's; of pairs they are both, or the first one.
struct Place {
  int element;
  bool of_a;
};
QUERN_DEVICE Place place_of(int column, int width) {
  if constexpr (!spec::backward) return {column, true};
  if constexpr (kMakesPairs) return {column / 2, column % 2 == 0};
  if constexpr (kLayout == GluLayout::blocks) {
    const int pair = column / (2 * spec::interleave), in_pair = column - pair * (2 * spec::interleave);
    const bool of_a = in_pair < spec::interleave;
    return {pair * static_cast<int>(spec::interleave) + in_pair - (of_a ? 0 : static_cast<int>(spec::interleave)),
            of_a};
  }
  const bool first = column < width;
  return {first ? column : column - width, first == (kLayout == GluLayout::halves)};
}

struct VectorInputs {
  Operands operands;
  BiasBits bias;
};

QUERN_DEVICE VectorInputs read_vector(const Params& p, i64 row, int column) {
  const Span at = {row, place_of(column, p.width).element, p.width};
  VectorInputs inputs;
  read(p, at, inputs.operands);
  inputs.bias = read_bias(p, at);
  return inputs;
}

// `Number` is T: only what depends on it may be left out.
template <class Number>
QUERN_DEVICE Vector<spec::vector> make_vector(const Params& p, const VectorInputs& inputs, int column) {
  if constexpr (!spec::backward) {
    Numbers out;
    make_out(p, inputs.operands, inputs.bias, out);
    return pack<Number, kElements>(out);
  } else {
    Gradients made;
    make_gradients(p, inputs.operands, inputs.bias, made);
    if constexpr (kMakesPairs && kNumbers > 1)
      return Pairs<Number, kLayout>::of(made.a, made.g).both;
    else
      return place_of(column, p.width).of_a ? pack<Number, kElements>(made.a) : pack<Number, kElements>(made.g);
  }
}

}  // namespace quern::glu

namespace quern::mxfp8 {

template <class Form>
using WithInputs = glu::WithGlu<Form>;

constexpr bool kMakes = true;
using Inputs = glu::VectorInputs;

struct Made {
  template <class P>
  static QUERN_DEVICE Inputs read(const P& p, const SourceRow& row, i64 column) {
    return glu::read_vector(p.glu, row.index, static_cast<int>(column));
  }
};

template <class P>
QUERN_DEVICE Word numbers_of(const P& p, const Inputs& inputs, i64 column) {
  return glu::make_vector<glu::T>(p.glu, inputs, static_cast<int>(column));
}

}  // namespace quern::mxfp8

#endif  // QUERN_GLU_NUMBERS_CUH_
