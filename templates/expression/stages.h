// The order in which a kernel can compute a program that has reductions along rows.
#ifndef QUERN_EXPRESSION_STAGES_H_
#define QUERN_EXPRESSION_STAGES_H_

#include <vector>

#include "expression/program.h"

namespace quern::expression {

inline constexpr std::size_t kMostKept = 2;

struct Stages {
  // Of each node, how many rounds of reductions it needs to be finished before it.
  std::vector<int> needs;
  // The reductions of each round: their arguments are computed element by element from the inputs and from the results
  // of earlier rounds. Empty: the program is elementwise.
  std::vector<std::vector<Id>> rounds;

  // What is worth a register of each element: values that a round's terms compute with a function that takes many
  // instructions, and that a later round or an output needs again. At most kMostKept, the last ones of the program.
  struct Kept {
    Id node;
    std::size_t round;  // whose terms are the first to need it
  };
  std::vector<Kept> kept;
  // Whether what comes after they were kept needs full inputs, too.
  bool needs_inputs_beside_kept = false;

  // All of them, round by round: what `reduced` of the emitted functions has the results of.
  std::vector<Id> reductions() const;
};

Stages stages(const Program& program);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_STAGES_H_
