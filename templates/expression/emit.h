// The device C++ of a program, as a generated header.
#ifndef QUERN_EXPRESSION_EMIT_H_
#define QUERN_EXPRESSION_EMIT_H_

#include <string>

#include "expression/program.h"

namespace quern::expression {

// Defines, in namespace quern::generated,
//
//   void compute(const float (&numbers)[N], const float (&in)[I], float (&out)[O]);
//
// of one element: `numbers` are those of numbers(program), `in` the inputs in memory and `out` the outputs, in the
// order of the program. Of an output that is sum_rows or sum_all, out is what the kernel has to add up. An array that
// would be empty has one element. The text depends on no literal's value.
//
// With R reductions along rows, `compute` takes `const float (&reduced)[R]` after `in`, the results in the order of
// Stages::reductions. For each round K
//
//   void terms_K(const float (&numbers)[N], const float (&in)[I], const float (&reduced)[R], float (&terms)[R]);
//
// gives an element's term of each reduction of the round, from the results of earlier rounds.
//
// Where Stages::kept has K values, both take `float (&kept)[K], bool has_kept` before their result: an element's, which
// the terms of their first round write. With has_kept the later functions read them, else they compute them again.
//
// A quotient by what many elements have is a product with its reciprocal, corrected to the same bits. Where it is what
// an output of at most 16 bits, or a quantized one, stores, and is not exact anyway, it is not corrected.
//
// `dtype` is the type of outputs that have none of their own. An activation that is the root of an output of at most 16
// bits is computed as exactly as this needs (NarrowStore); all else is fp32.
std::string emit(const Program& program, DType dtype);

// Whether the last operation of an output of a type is computed only as exactly as the type needs.
bool stores_narrow(const Node& root, DType dtype);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_EMIT_H_
