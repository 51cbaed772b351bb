// Expressions as a tree whose equal parts are one node. A node's arguments precede it, so every pass over a tree is a
// loop.
#ifndef QUERN_EXPRESSION_TREE_H_
#define QUERN_EXPRESSION_TREE_H_

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <vector>

#include "expression/functions.h"
#include "quern/dtype.h"

namespace quern::expression {

enum class Type : std::uint8_t { number, condition };

// Of what a value depends: on nothing in memory, on one element for all, on the column, on the row, on both. An operand
// of the kind `row` is a row, [width]; a `constant` one is a number of the launch.
enum class Kind : std::uint8_t { constant, scalar, row, column, full };
inline constexpr const char* kKindNames[] = {"number", "scalar", "row", "column", "full"};
constexpr const char* name(Kind kind) { return kKindNames[static_cast<int>(kind)]; }

// The kind of what depends on both.
constexpr Kind joined(Kind a, Kind b) {
  if (a == b || b <= Kind::scalar) return a < b ? b : a;
  return a <= Kind::scalar ? b : Kind::full;
}
// Whether a value of the kind can be stored in an operand of the other.
constexpr bool fits(Kind value, Kind operand) { return joined(value, operand) == operand; }

enum class Op : std::uint8_t {
  literal,   // a number of the program that is an argument of the launch
  constant,  // one that is a constant of the kernel
  operand,
  call,  // of a function or an operator
};

using Id = std::int32_t;  // of a node: its place in the tree

struct Node {
  Op op = Op::literal;
  std::uint8_t count = 0;      // of arguments
  std::int16_t function = -1;  // its row
  std::array<Id, 3> arguments = {-1, -1, -1};
  std::uint32_t payload = 0;  // the bits of a value, an operand's number, or the DType of round

  // Follow from the above.
  Type type = Type::number;
  Kind kind = Kind::constant;
  bool reduces = false;  // whether a reduction is in it

  friend auto operator<=>(const Node&, const Node&) = default;

  std::span<const Id> used() const { return {arguments.data(), count}; }
  float value() const;
  const Function& row() const { return kFunctions[function]; }
  bool is(int wanted) const { return op == Op::call && function == wanted; }
  bool is_constant(float wanted) const;  // its bits
  bool is_reduction() const { return op == Op::call && expression::is_reduction(row()); }
  bool is_inexact() const { return op == Op::call && !is_exact(row()); }
};

class Tree {
 public:
  Id literal(float value) { return number(Op::literal, value); }
  Id constant(float value) { return number(Op::constant, value); }
  Id operand(int number, Kind kind);
  // REQUIRES: as many arguments as the row has, of its types. What can be simplified without a change of a bit is.
  Id call(int function, std::span<const Id> arguments, DType dtype = DType::none);
  Id call(int function, std::initializer_list<Id> arguments) {
    return call(function, std::span<const Id>(arguments.begin(), arguments.size()));
  }

  const Node& operator[](Id id) const { return nodes_[static_cast<std::size_t>(id)]; }
  Id size() const { return static_cast<Id>(nodes_.size()); }
  // For loops over all nodes. A node that is added ends its use.
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  Id number(Op op, float value);
  Id add(const Node& node);
  // The node that is the same as a call; -1: none, so that it becomes a node.
  Id simpler(int function, std::span<const Id> arguments, DType dtype);
  Id simpler_operator(int function, Id x, Id y);
  Id simpler_negation(Id x);

  std::vector<Node> nodes_;
  std::map<Node, Id> places_;
};

// Which nodes depend on one of these, themselves included.
std::vector<bool> dependents(const Tree& tree, const std::vector<bool>& on);

}  // namespace quern::expression

#endif  // QUERN_EXPRESSION_TREE_H_
