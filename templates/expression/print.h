// The canonical text of a program: it parses to the same program, and equal programs have equal texts.
#ifndef QUERN_EXPRESSION_PRINT_H_
#define QUERN_EXPRESSION_PRINT_H_

#include <string>

#include "expression/program.h"

namespace quern::expression {

// One line: declarations that say more than the default, locals for what is used twice, outputs. As few parentheses as
// the grammar allows.
std::string print(const Program& program);

// With the fewest digits that give this float again; "inf", "nan".
std::string print(float value);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_PRINT_H_
