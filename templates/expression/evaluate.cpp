#include "expression/evaluate.h"

#include <array>
#include <limits>
#include <type_traits>

#include "common/host_types.h"

namespace quern::expression {
namespace {

bool is_one_a_row(Kind kind) { return kind != Kind::full && kind != Kind::row; }

template <class T>
T call(const Function& f, T x, T y, T z) {
  if constexpr (std::is_same_v<T, double>)
    return f.reference(x, y, z);
  else
    return f.compute(x, y, z);
}

template <class T>
T add_in_order(std::span<const T> values) {
  T sum = 0;
  for (const T value : values) sum += value;
  return sum;
}

template <class T>
T greatest(std::span<const T> values) {
  T most = -std::numeric_limits<T>::infinity();
  for (const T value : values) most = call<T>(kFunctions[find_function("max", 2)], most, value, 0);
  return most;
}

// Where an element of an operand is.
std::size_t place(Kind kind, Shape shape, std::int64_t row, std::int64_t column) {
  const std::int64_t at = kind == Kind::full     ? row * shape.width + column
                          : kind == Kind::row    ? column
                          : kind == Kind::column ? row
                                                 : 0;
  return static_cast<std::size_t>(at);
}

}  // namespace

std::int64_t elements(Kind kind, Shape shape) {
  return (kind == Kind::full || kind == Kind::column ? shape.rows : 1) *
         (kind == Kind::full || kind == Kind::row ? shape.width : 1);
}

template <class T>
RowInterpreter<T>::RowInterpreter(const Program& program, Shape shape, Read read, Add add)
    : program_(program), shape_(shape), read_(std::move(read)), add_(add ? std::move(add) : add_in_order<T>) {
  for (const Node& node : program.tree.nodes()) {
    const bool is_one = is_one_a_row(node.kind) && !(node.op == Op::call && node.row().form == Form::over_rows);
    values_.emplace_back(is_one ? 1 : static_cast<std::size_t>(shape.width));
  }
}

template <class T>
void RowInterpreter<T>::evaluate(std::int64_t row) {
  for (Id id = 0; id < program_.tree.size(); ++id) {
    const Node& node = program_.tree[id];
    std::vector<T>& out = values_[static_cast<std::size_t>(id)];
    if (node.op == Op::call)
      evaluate_call(node, out);
    else
      evaluate_leaf(node, row, out);
  }
}

template <class T>
void RowInterpreter<T>::evaluate_leaf(const Node& node, std::int64_t row, std::vector<T>& out) const {
  const bool is_operand = node.op == Op::operand;
  const std::int64_t r = node.kind == Kind::full || node.kind == Kind::column ? row : 0;
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = is_operand ? read_(static_cast<int>(node.payload), r, static_cast<std::int64_t>(c))
                        : static_cast<T>(node.value());
}

template <class T>
void RowInterpreter<T>::evaluate_call(const Node& node, std::vector<T>& out) const {
  const Form form = node.row().form;
  if (form == Form::along_row) {
    out[0] = reduced(node);
  } else if (form == Form::extent) {
    out[0] = static_cast<T>(static_cast<float>(node.is(kWidth) ? shape_.width : shape_.rows));
  } else {
    for (std::size_t c = 0; c < out.size(); ++c) {
      std::array<T, 3> x = {};
      for (std::size_t i = 0; i < node.count; ++i) x[i] = value(node.arguments[i], static_cast<std::int64_t>(c));
      if (form == Form::rounding)
        out[c] = static_cast<T>(common::round_float(static_cast<DType>(node.payload), static_cast<double>(x[0])));
      else
        out[c] = form == Form::over_rows ? x[0] : call<T>(node.row(), x[0], x[1], x[2]);
    }
  }
}

template <class T>
T RowInterpreter<T>::reduced(const Node& node) const {
  std::vector<T> terms;
  for (std::int64_t c = 0; c < shape_.width; ++c) terms.push_back(value(node.arguments[0], c));
  if (node.is(kRowMax)) return greatest<T>(terms);
  const T sum = add_(terms);
  return node.is(kMean) ? sum / static_cast<T>(static_cast<float>(shape_.width)) : sum;
}

template <class T>
std::vector<std::vector<T>> evaluate(const Program& program, Shape shape, const std::vector<std::vector<T>>& inputs) {
  RowInterpreter<T> interpreter(program, shape, [&](int input, std::int64_t row, std::int64_t column) {
    const auto i = static_cast<std::size_t>(input);
    return inputs[i][place(program.inputs[i].kind, shape, row, column)];
  });
  std::vector<std::vector<T>> outputs;
  for (const Output& output : program.outputs)
    outputs.emplace_back(static_cast<std::size_t>(elements(output.kind, shape)));
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    interpreter.evaluate(r);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const Output& output = program.outputs[o];
      const bool adds = output.kind == Kind::row || output.kind == Kind::scalar;
      const std::int64_t columns = output.kind == Kind::column ? 1 : shape.width;
      for (std::int64_t c = 0; c < columns; ++c) {
        T& to = outputs[o][place(output.kind, shape, r, c)];
        const T value = interpreter.value(output.value, c);
        to = adds ? to + value : value;
      }
    }
  }
  return outputs;
}

template class RowInterpreter<double>;
template class RowInterpreter<float>;
template std::vector<std::vector<double>> evaluate(const Program&, Shape, const std::vector<std::vector<double>>&);
template std::vector<std::vector<float>> evaluate(const Program&, Shape, const std::vector<std::vector<float>>&);

}  // namespace quern::expression
