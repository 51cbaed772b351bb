// Programs of formulas, as text: what they take and make, and their gradients. docs/expressions.md
// is the language; `pointwise expr="…"` runs them.
#ifndef QUERN_PROGRAM_H_
#define QUERN_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "quern/dtype.h"
#include "quern/export.h"

namespace quern {

// A name of a program.
struct ProgramOperand {
  std::string name;
  DType dtype = DType::none;  // none: the problem's; of a number f32
  std::string kind;           // "full", "row", "column" or "scalar"; of a float of the launch "number"
};

struct ProgramInfo {
  std::string text;  // canonical: equal programs have equal texts
  // In the order in which the outputs, from the first on and left to right, first need them. Those of kind "number" are
  // PointwiseArgs::numbers, the others PointwiseArgs::inputs, each in this order.
  std::vector<ProgramOperand> inputs;
  std::vector<ProgramOperand> outputs;  // PointwiseArgs::outputs; with the name of an input: may be in its place
};

// Both throw Error (bad_input) with the line, the column and a caret of what is wrong.
QUERN_API ProgramInfo read_program(std::string_view text);
// The program that makes d_NAME for each of `names`, which are inputs, from the inputs that it needs and d_OUT of each
// output. d_NAME has the type and kind of the input; of a number it is a scalar in f32.
QUERN_API ProgramInfo gradient(std::string_view program, const std::vector<std::string>& names);

}  // namespace quern

#endif  // QUERN_PROGRAM_H_
