// Computes programs on the host: in double, as a reference, or in float, as a kernel computes them, without contraction
// and with one rounding at each `round`.
#ifndef QUERN_EXPRESSION_EVALUATE_H_
#define QUERN_EXPRESSION_EVALUATE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "expression/program.h"

namespace quern::expression {

struct Shape {
  std::int64_t rows;
  std::int64_t width;
};

// One row at a time. T is double or float.
template <class T>
class RowInterpreter {
 public:
  // The element of an input; the column is 0 where the kind has one for all of them, and the row likewise. Of a number,
  // what the launch gives.
  using Read = std::function<T(int input, std::int64_t row, std::int64_t column)>;
  // Adds up a row; by default from left to right.
  using Add = std::function<T(std::span<const T>)>;

  // `program` must outlive it.
  RowInterpreter(const Program& program, Shape shape, Read read, Add add = {});

  void evaluate(std::int64_t row);
  // Of the row: a value for each column, or one value where the kind of the node has one for all.
  std::span<const T> values(Id node) const { return values_[static_cast<std::size_t>(node)]; }
  T value(Id node, std::int64_t column) const { return at(values(node), column); }

 private:
  static T at(std::span<const T> values, std::int64_t column) {
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(column)];
  }
  void evaluate_leaf(const Node& node, std::int64_t row, std::vector<T>& out) const;
  void evaluate_call(const Node& node, std::vector<T>& out) const;
  T reduced(const Node& node) const;

  const Program& program_;
  Shape shape_;
  Read read_;
  Add add_;
  std::vector<std::vector<T>> values_;  // of each node
};

// A whole program on small arrays: inputs and outputs in the order of the program, each of the size of its kind, a
// number as one element. Sums over rows are from the first to the last; nothing is rounded to an output's type.
template <class T>
std::vector<std::vector<T>> evaluate(const Program& program, Shape shape, const std::vector<std::vector<T>>& inputs);

// The elements of an operand of a kind.
std::int64_t elements(Kind kind, Shape shape);

extern template class RowInterpreter<double>;
extern template class RowInterpreter<float>;
extern template std::vector<std::vector<double>> evaluate(const Program&, Shape,
                                                          const std::vector<std::vector<double>>&);
extern template std::vector<std::vector<float>> evaluate(const Program&, Shape, const std::vector<std::vector<float>>&);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_EVALUATE_H_
