// A program on the host, row by row: fp32 without contraction, operation by operation as the language says, and one
// rounding at each store. An activation that is the last operation of an output of 16 or 8 bits is in double: its fp32
// formula may cancel, and the kernel has a better one there.
#ifndef QUERN_POINTWISE_PROGRAM_REFERENCE_H_
#define QUERN_POINTWISE_PROGRAM_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "expression/error_bound.h"
#include "pointwise/program.h"

namespace quern::pointwise::program {

// What all threads share. Both must outlive it.
class Reference {
 public:
  Reference(const Pointwise& problem, const PointwiseArgs& args);

  const Summary& summary() const { return s_; }

  // For one thread. `add` adds up a row.
  expression::RowInterpreter<float> interpreter(expression::RowInterpreter<float>::Add add = {}) const;

  // Of what that interpreter evaluates.
  expression::RowErrors errors(const expression::RowInterpreter<float>& made) const { return {program_, made}; }

  bool has_scales(int output) const { return program::has_scales(p_, s_.entries[s_.inputs + output]); }

  // Of the row that was evaluated: an output's number before the store, and its store at [row, column].
  double value(const expression::RowInterpreter<float>& made, int output, std::int64_t column) const;
  // How far another device's may be from the store of that number.
  double error(const expression::RowErrors& errors, const expression::RowInterpreter<float>& made, int output,
               std::int64_t column) const;
  void write(int output, std::int64_t row, std::int64_t column, double value) const;

 private:
  float read(int input, std::int64_t row, std::int64_t column) const;

  const Pointwise& p_;
  const PointwiseArgs& a_;
  const Summary s_;
  const expression::Program program_;
  const std::vector<int> places_;
  std::vector<std::size_t> given_;
};

}  // namespace quern::pointwise::program

#endif  // QUERN_POINTWISE_PROGRAM_REFERENCE_H_
