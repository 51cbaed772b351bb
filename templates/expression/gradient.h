// The gradient of a whole program, which is a program again.
#ifndef QUERN_EXPRESSION_GRADIENT_H_
#define QUERN_EXPRESSION_GRADIENT_H_

#include <span>
#include <string>

#include "expression/program.h"

namespace quern::expression {

// Its inputs: those of the program that it needs, as they were before the program ran, and d_OUT, of the type and kind
// of each output OUT. Its outputs: d_NAME for each of `names`, of the type and kind of the input NAME; of a number a
// scalar in f32. Values are computed again, but for those of saved outputs, which are inputs of their names; what is
// common is computed once.
Parsed gradient(const Program& program, std::span<const std::string> names);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_GRADIENT_H_
