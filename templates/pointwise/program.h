// The program in a problem's field expr, and what of it each launch needs, which no launch parses again.
#ifndef QUERN_POINTWISE_PROGRAM_H_
#define QUERN_POINTWISE_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "expression/program.h"
#include "pointwise/pointwise.h"

namespace quern::pointwise {

inline bool has_program(const Pointwise& p) { return p.expr.count != 0; }

namespace program {

inline constexpr int kMostReductions = 32;  // along rows

struct Entry {
  DType dtype;  // none: the problem's
  Spread spread;
};

// A number of the launch.
struct Number {
  expression::Number::Source source;
  int given;    // of an operand: its place in PointwiseArgs::numbers
  float value;  // of a literal
};

struct Summary {
  int inputs = 0;  // in memory
  int outputs = 0;
  int numbers = 0;
  int given = 0;            // those of them that a launch gives
  int inexact = 0;          // operations whose results are not the same on all devices
  int full_inputs = 0;      // inputs of all of [rows, width]
  bool has_row = false;     // an input is a row
  bool has_column = false;  // an input is a column
  int reductions = 0;       // along rows
  int rounds = 0;           // of them, each from the results of those before it
  int kept = 0;             // values of an element that a round computes and later ones need
  bool needs_inputs_beside_kept = false;
  int sums = 0;    // outputs that are sums over the rows or over all
  int totals = 0;  // those over all
  int column_outputs = 0;
  Entry entries[expression::kMostOperands + expression::kMostOutputs] = {};  // the inputs, then the outputs
  Number values[expression::kMostNumbers] = {};

  int operands() const { return inputs + outputs; }
  // Else it is computed element by element.
  bool has_reductions() const { return reductions + sums + column_outputs != 0; }
  bool has_periodic() const { return has_row || has_column; }
};

// Of the problem's program, if it is right; else it has no operands. A thread that asks for one program again compares
// its text; each text is parsed once, and is then kept until the process ends.
const Summary& summary(const Pointwise& p);

}  // namespace program

// Or largest magnitudes of outputs that are quantized.
inline bool has_reductions(const Pointwise& p) {
  return has_program(p) && (p.scaling != PointwiseScaling::none || program::summary(p).has_reductions());
}

namespace program {

inline int given_numbers(const Pointwise& p) { return has_program(p) ? summary(p).given : 0; }

inline DType dtype_of(const Pointwise& p, const Entry& entry) {
  return entry.dtype == DType::none ? p.dtype : entry.dtype;
}
// Whether an output is stored by scales that are made.
inline bool has_scales(const Pointwise& p, const Entry& output) {
  return p.scaling != PointwiseScaling::none && output.spread == Spread::full &&
         (output.dtype == e4m3 || output.dtype == e5m2);
}
// The type whose numbers an output's formula gives.
inline DType made_dtype(const Pointwise& p, const Entry& output) {
  return has_scales(p, output) ? f32 : dtype_of(p, output);
}

// REQUIRES: check(p) is "".
expression::Program parsed(const Pointwise& p);

// The bytes of a text's canonical form; of a text that does not parse its own. `value` is Pointwise::expr.
std::string_view canonical(const void* value);

// "" or why the program is refused.
std::string check(const Pointwise& p);

// Operations that an output needs and whose results are not the same on all devices; and those of them that are
// computed in fp32: not an activation that is the last one of an output of less.
struct Inexact {
  int all = 0;
  int in_fp32 = 0;
};
Inexact inexact_of(const Pointwise& p, int output);

// "x", "out", "m": the names in the program of its operands, inputs first, and of the numbers that a launch gives.
std::string name_of(const Pointwise& p, int entry);
std::string name_of_number(const Pointwise& p, int number);

}  // namespace program
}  // namespace quern::pointwise

#endif  // QUERN_POINTWISE_PROGRAM_H_
