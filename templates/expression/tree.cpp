#include "expression/tree.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quern::expression {
namespace {

constexpr std::uint32_t kNan = 0x7fc00000;

// One NaN, so that equal texts are equal nodes.
std::uint32_t bits_of(float value) { return std::isnan(value) ? kNan : std::bit_cast<std::uint32_t>(value); }

Kind kind_of(const Function& f, Kind arguments) {
  if (f.form == Form::along_row) return Kind::column;
  if (f.form == Form::over_rows) return std::string_view(f.name) == "sum_rows" ? Kind::row : Kind::scalar;
  return arguments;
}

}  // namespace

float Node::value() const { return std::bit_cast<float>(payload); }
bool Node::is_constant(float wanted) const { return op == Op::constant && payload == bits_of(wanted); }

Id Tree::add(const Node& node) {
  const auto [place, is_new] = places_.try_emplace(node, size());
  if (is_new) nodes_.push_back(node);
  return place->second;
}

Id Tree::number(Op op, float value) {
  Node node;
  node.op = op;
  node.payload = bits_of(value);
  return add(node);
}

Id Tree::operand(int number, Kind kind) {
  Node node;
  node.op = Op::operand;
  node.payload = static_cast<std::uint32_t>(number);
  node.kind = kind;
  return add(node);
}

Id Tree::call(int function, std::span<const Id> arguments, DType dtype) {
  if (const Id same = simpler(function, arguments, dtype); same >= 0) return same;
  const Function& f = kFunctions[function];
  Node node;
  node.op = Op::call;
  node.function = static_cast<std::int16_t>(function);
  node.count = static_cast<std::uint8_t>(arguments.size());
  node.payload = static_cast<std::uint32_t>(dtype);
  node.type = f.result == 'c' ? Type::condition : Type::number;
  node.reduces = is_reduction(f);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Node& argument = (*this)[arguments[i]];
    node.arguments[i] = arguments[i];
    node.kind = joined(node.kind, argument.kind);
    node.reduces |= argument.reduces;
  }
  node.kind = kind_of(f, node.kind);
  return add(node);
}

Id Tree::simpler(int function, std::span<const Id> a, DType dtype) {
  const Function& f = kFunctions[function];
  if (function == kIdentity) return a[0];
  if (function == kWhere) return a[1] == a[2] ? a[1] : -1;
  if (function == kNegate) return simpler_negation(a[0]);
  if (f.form == Form::rounding) {
    const Node& x = (*this)[a[0]];
    return dtype == DType::f32 || (x.is(function) && x.payload == static_cast<std::uint32_t>(dtype)) ? a[0] : -1;
  }
  return f.form == Form::infix && f.result == 'n' ? simpler_operator(function, a[0], a[1]) : -1;
}

Id Tree::simpler_negation(Id id) {
  const Node x = (*this)[id];
  if (x.is(kNegate)) return x.arguments[0];
  return x.op == Op::literal || x.op == Op::constant ? number(x.op, -x.value()) : -1;
}

// Of constants the result, unless it is a NaN, whose sign is not the same everywhere.
Id Tree::simpler_operator(int function, Id x, Id y) {
  const Node a = (*this)[x], b = (*this)[y];
  if (a.op == Op::constant && b.op == Op::constant) {
    const float value = kFunctions[function].compute(a.value(), b.value(), 0);
    return std::isnan(value) ? -1 : constant(value);
  }
  if (function == kMultiply) return b.is_constant(1) ? x : a.is_constant(1) ? y : -1;
  if (function == kDivide) return b.is_constant(1) ? x : -1;
  if (function == kSubtract) return b.is_constant(0) ? x : -1;
  return b.is_constant(-0.0F) ? x : a.is_constant(-0.0F) ? y : -1;
}

std::vector<bool> dependents(const Tree& tree, const std::vector<bool>& on) {
  std::vector<bool> depends = on;
  depends.resize(static_cast<std::size_t>(tree.size()));
  for (std::size_t i = 0; i < depends.size(); ++i) {
    const auto used = tree.nodes()[i].used();
    depends[i] = depends[i] ||
                 std::any_of(used.begin(), used.end(), [&](Id id) { return depends[static_cast<std::size_t>(id)]; });
  }
  return depends;
}

}  // namespace quern::expression
