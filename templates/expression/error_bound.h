// How far two computers of a program may be apart, element by element: functions such as exp are not computed to the
// same bit everywhere, and what follows may enlarge the difference, as a subtraction of nearly equal numbers does.
#ifndef QUERN_EXPRESSION_ERROR_BOUND_H_
#define QUERN_EXPRESSION_ERROR_BOUND_H_

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "expression/evaluate.h"

namespace quern::expression {

// Of fp32 formulas for the same arguments: eight units in the last place, and eight times what this computer's formula
// is off near x, since a device's functions may be off by some units where this one's are by half of one. 0: the
// function is exact.
double formula_error(const Function& function, double x, double y, double z);

// How much `f` changes at most while its argument changes by up to `error`, by the ends of that range.
double change(const std::function<double(double)>& f, double x, double error);

// A running error analysis, one row at a time. Where a condition may be otherwise, either branch is within the bound.
class RowErrors {
 public:
  // Both must outlive it. REQUIRES: the program has no reductions.
  RowErrors(const Program& program, const RowInterpreter<float>& made);

  // Of the row that `made` evaluated last.
  void evaluate();
  double error(Id node, std::int64_t column) const;

 private:
  double of_call(const Node& node, std::int64_t column) const;

  const Program& program_;
  const RowInterpreter<float>& made_;
  std::vector<std::vector<double>> errors_;  // of each node, as its values
};

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_ERROR_BOUND_H_
