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

// Of a vector that begins at that column: of out, backward of x_gradient.
QUERN_DEVICE ElementPlace element_at(int column, int width) {
  if constexpr (!spec::backward) return {column, true};
  return element_of(kLayout, static_cast<int>(spec::interleave), width, column);
}

// Calls take(where a vector is, its place in `operands`) for each vector that the numbers are made of.
template <class Take>
QUERN_DEVICE void for_vectors(const Params& p, i64 row, int column, Operands& operands, Take& take) {
  const Span at{row, element_at(column, p.width).element, p.width};
  const T* const x = row_of<T>(p.x, p.x_stride, at);
  const T* const gate = kLayout == GluLayout::split ? row_of<T>(p.gate, p.x_stride, at) : x;
  operands.x.each(p, {x, gate}, at, take);
  if constexpr (spec::backward) take(row_of<T>(p.gradient, p.gradient_stride, at) + at.column, operands.gradient.bits);
  if constexpr (spec::has_scale && Take::kFetches)
    operands.scale = load<sizeof(spec::Scale)>(static_cast<const spec::Scale*>(p.scale) + row);
}

// A template, with T for `Number`, since only there `if constexpr` leaves out what does not fit. The bias is read here,
// from L1, as it is the same for all rows: those whose reads are on their way would each hold it in registers.
template <class Number>
QUERN_DEVICE Vector<spec::vector> make_vector(const Params& p, const Operands& operands, int column) {
  const ElementPlace place = element_at(column, p.width);
  const BiasBits bias = read_bias(p, {0, place.element, p.width});
  if constexpr (!spec::backward) {
    Numbers out;
    make_out(p, operands, bias, out);
    return pack<Number, kElements>(out);
  } else {
    Gradients made;
    make_gradients(p, operands, bias, made);
    if constexpr (kMakesPairs && kNumbers > 1)
      return Pairs<Number, kLayout>::of(made.a, made.g).both;
    else
      return place.of_a ? pack<Number, kElements>(made.a) : pack<Number, kElements>(made.g);
  }
}

// Both gradients of elements whose numbers are in different halves of a row, in the order of the halves.
template <class Number>
QUERN_DEVICE void make_halves(const Params& p, const Operands& operands, int element,
                              Vector<spec::vector> (&halves)[2]) {
  Gradients made;
  make_gradients(p, operands, read_bias(p, {0, element, p.width}), made);
  constexpr int kOfA = kLayout == GluLayout::swapped ? 1 : 0;
  halves[kOfA] = pack<Number, kElements>(made.a);
  halves[1 - kOfA] = pack<Number, kElements>(made.g);
}

}  // namespace quern::glu

namespace quern::mxfp8 {

template <class Form>
using WithInputs = glu::WithGlu<Form>;

constexpr bool kMakes = true;
using Inputs = glu::Operands;

template <class P, class Take>
QUERN_DEVICE void for_inputs(const P& p, const SourceRow& row, i64 column, Inputs& inputs, Take& take) {
  glu::for_vectors(p.glu, row.index, static_cast<int>(column), inputs, take);
}

template <class P>
QUERN_DEVICE Word numbers_of(const P& p, const Inputs& inputs, i64 column) {
  return glu::make_vector<glu::T>(p.glu, inputs, static_cast<int>(column));
}

template <class P>
QUERN_DEVICE void halves_of(const P& p, const Inputs& inputs, i64 column, Word (&halves)[2]) {
  glu::make_halves<glu::T>(p.glu, inputs, static_cast<int>(column), halves);
}

}  // namespace quern::mxfp8

#endif  // QUERN_GLU_NUMBERS_CUH_
