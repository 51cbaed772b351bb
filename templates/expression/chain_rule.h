// The derivative column of the table of functions, applied to nodes.
#ifndef QUERN_EXPRESSION_CHAIN_RULE_H_
#define QUERN_EXPRESSION_CHAIN_RULE_H_

#include "expression/tree.h"

namespace quern::expression {

// What the node adds to the gradient of an argument, when its own gradient is `gradient`. -1: nothing.
Id contribution(Tree& tree, Id node, int argument, Id gradient);

// The derivative of each element of `value` by an element of `operand`, one of its leaves. REQUIRES: no reduction in
// it.
Id derivative(Tree& tree, Id value, Id operand);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_CHAIN_RULE_H_
