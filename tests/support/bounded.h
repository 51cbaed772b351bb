// The values of a program on one element in double, and how far those of fp32 arithmetic may be from them.
#ifndef QUERN_TESTS_SUPPORT_BOUNDED_H_
#define QUERN_TESTS_SUPPORT_BOUNDED_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "common/activation_reference.h"
#include "common/host_types.h"
#include "expression/evaluate.h"

namespace quern::test::expressions {

// Units in the last place that a function may be off, and an error that does not shrink with the result.
struct Accuracy {
  double ulps;
  double absolute;
};
inline Accuracy accuracy(const expression::Node& node) {
  using namespace expression;
  const Function& f = node.row();
  if (f.form == Form::infix || f.form == Form::prefix) return {0.5, 0};
  if (f.form == Form::slope) return {16, 4e-6};
  for (const common::ActivationRow& row : common::kActivationRows) {
    if (f.form == Form::activation && std::string_view(row.name) == f.name) return {row.ulps + 1, row.absolute};
  }
  const std::string_view name = f.name;
  return name == "pow" ? Accuracy{16, 0} : Accuracy{4, 0};
}

// The values of a program on one element in double, and how far those in float may be.
struct Bounded {
  std::vector<double> value;
  std::vector<double> error;
};

inline double bounded_value(const expression::Node& node, const std::array<double, 3>& x) {
  if (node.row().form == expression::Form::rounding)
    return static_cast<double>(common::round_float(static_cast<DType>(node.payload), x[0]));
  return node.row().reference(x[0], x[1], x[2]);
}

// The largest change of the result when each argument moves by its error.
inline double propagated(const expression::Node& node, const Bounded& all) {
  std::array<double, 3> center = {}, error = {};
  for (std::size_t i = 0; i < node.count; ++i) {
    center[i] = all.value[static_cast<std::size_t>(node.arguments[i])];
    error[i] = all.error[static_cast<std::size_t>(node.arguments[i])];
  }
  const double value = bounded_value(node, center);
  double most = 0;
  for (int corner = 0; corner < 27; ++corner) {
    std::array<double, 3> x = center;
    for (std::size_t i = 0, left = static_cast<std::size_t>(corner); i < 3; ++i, left /= 3)
      x[i] += error[i] * (static_cast<double>(left % 3) - 1);
    const double change = std::abs(bounded_value(node, x) - value);
    most = std::max(most, std::isnan(change) ? HUGE_VAL : change);
  }
  return node.type == expression::Type::condition ? most : 1.01 * most;  // a condition's error of 1 is its other value
}

// `value_of`: of an input.
inline Bounded bounded(const expression::Program& program,
                       const std::function<double(const expression::Operand& input)>& value_of) {
  using namespace expression;
  RowInterpreter<double> interpreter(program, {1, 1}, [&](int input, std::int64_t, std::int64_t) {
    return value_of(program.inputs[static_cast<std::size_t>(input)]);
  });
  interpreter.evaluate(0);
  Bounded all;
  for (Id id = 0; id < program.tree.size(); ++id) {
    const Node& node = program.tree[id];
    const double value = interpreter.value(id, 0);
    all.value.push_back(value);
    double error = 0;
    if (node.op == Op::call) {
      const Accuracy own =
          node.type == Type::condition || node.row().form == Form::rounding ? Accuracy{0, 0} : accuracy(node);
      error = propagated(node, all) + std::max(own.ulps * 0x1p-23 * std::abs(value), own.absolute) + 1e-44;
    }
    all.error.push_back(error);
  }
  return all;
}

}  // namespace quern::test::expressions

#endif  // QUERN_TESTS_SUPPORT_BOUNDED_H_
