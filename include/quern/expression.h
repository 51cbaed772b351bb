// Expressions as C++ objects: they build the text of a program in quern's expression language, for the field `expr` of
// pointwise and for quern/program.h. docs/expressions.md is the language.
//
//   const quern::Expression x("x"), b("b", "f32 row");
//   const quern::Expression y = relu(x + 0.5f * b);
//   quern::Pointwise problem;
//   problem.expr = y.text("y");                     // "b: f32 row; y = relu(x + 0.5 * b)"
//   quern::program_text({{"y", y}, {"s", sum(y)}})  // several outputs
//
// Numbers are arguments of the launch, unless they are made by Expression::constant. The functions are those of the
// language, found by their arguments' type. What the language refuses, such as a condition where it takes a number, is
// refused when the text is read. An expression is a value that shares its parts: a copy is cheap, and a part that is
// used twice is computed once. Threads may read one together. Errors: none but std::bad_alloc.
#ifndef QUERN_EXPRESSION_H_
#define QUERN_EXPRESSION_H_

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quern/activation_table.h"
#include "quern/dtype.h"
#include "quern/expression_table.h"

namespace quern {

class Expression {
 public:
  // An operand, and what is declared of it: a type and a kind, "f32 row", "number"; "": full, of the problem's type.
  explicit Expression(const std::string& name, const std::string& declaration = "") {
    Node node;
    node.text = name;
    node.is_name = true;
    if (!declaration.empty()) node.declaration = name + ": " + declaration;
    node_ = std::make_shared<const Node>(std::move(node));
  }
  // A number that is an argument of the launch.
  Expression(double value) : Expression(leaf(number_text(value))) {}  // NOLINT(google-explicit-constructor)

  // A number that is a constant of the kernel.
  static Expression constant(double value) { return leaf("const " + number_text(value)); }

  // The program whose one output this is.
  std::string text(const std::string& output = "y") const;

  // ---- Operators and functions

  // The last number is how tightly it binds.
#define QUERN_EXPRESSION_INFIX(sign, text, precedence)                        \
  friend Expression operator sign(const Expression& x, const Expression& y) { \
    return infix(" " text " ", precedence, x, y);                             \
  }
  QUERN_EXPRESSION_INFIX(||, "or", 1)
  QUERN_EXPRESSION_INFIX(&&, "and", 2)
  QUERN_EXPRESSION_INFIX(<, "<", kComparison)
  QUERN_EXPRESSION_INFIX(<=, "<=", kComparison)
  QUERN_EXPRESSION_INFIX(>, ">", kComparison)
  QUERN_EXPRESSION_INFIX(>=, ">=", kComparison)
  QUERN_EXPRESSION_INFIX(==, "==", kComparison)
  QUERN_EXPRESSION_INFIX(!=, "!=", kComparison)
  QUERN_EXPRESSION_INFIX(+, "+", 5)
  QUERN_EXPRESSION_INFIX(-, "-", 5)
  QUERN_EXPRESSION_INFIX(*, "*", 6)
  QUERN_EXPRESSION_INFIX(/, "/", 6)
#undef QUERN_EXPRESSION_INFIX
  friend Expression operator!(const Expression& x) { return prefix("not ", 3, x); }
  friend Expression operator-(const Expression& x) { return prefix("-", kMinus, x); }

#define QUERN_EXPRESSION_OF_ONE(name, ...) \
  friend Expression name(const Expression& x) { return call(#name, {x.node_}); }
#define QUERN_EXPRESSION_OF_TWO(name, ...) \
  friend Expression name(const Expression& x, const Expression& y) { return call(#name, {x.node_, y.node_}); }
#define QUERN_EXPRESSION_OF_THREE(name, ...)                                              \
  friend Expression name(const Expression& x, const Expression& y, const Expression& z) { \
    return call(#name, {x.node_, y.node_, z.node_});                                      \
  }
// With its default alpha, or another one.
#define QUERN_EXPRESSION_OF_ALPHA(name, ...)                                                                           \
  QUERN_EXPRESSION_OF_ONE(name, "n")                                                                                   \
  friend Expression name(const Expression& x, const Expression& alpha) { return call(#name, {x.node_, alpha.node_}); } \
  QUERN_EXPRESSION_OF_ONE(name##_slope, "n")                                                                           \
  friend Expression name##_slope(const Expression& x, const Expression& alpha) {                                       \
    return call(#name "_slope", {x.node_, alpha.node_});                                                               \
  }
  QUERN_EXPRESSION_UNARY(QUERN_EXPRESSION_OF_ONE)
  QUERN_EXPRESSION_BINARY(QUERN_EXPRESSION_OF_TWO)
  QUERN_EXPRESSION_TERNARY(QUERN_EXPRESSION_OF_THREE)
  QUERN_EXPRESSION_ACTIVATIONS(QUERN_EXPRESSION_OF_ALPHA)
  QUERN_EXPRESSION_OF_ONE(identity, "n")
  // Reductions along a row.
  QUERN_EXPRESSION_OF_ONE(sum, "n")
  QUERN_EXPRESSION_OF_ONE(mean, "n")
  QUERN_EXPRESSION_OF_ONE(max, "n")
  // Over the rows, and over all: the whole of an output.
  QUERN_EXPRESSION_OF_ONE(sum_rows, "n")
  QUERN_EXPRESSION_OF_ONE(sum_all, "n")
#undef QUERN_EXPRESSION_OF_ONE
#undef QUERN_EXPRESSION_OF_TWO
#undef QUERN_EXPRESSION_OF_THREE
#undef QUERN_EXPRESSION_OF_ALPHA

  // The nearest number of a type.
  friend Expression round(const Expression& x, DType type) { return call("round", {x.node_, leaf(name(type)).node_}); }
  // The derivative of an expression without reductions by one of its inputs.
  friend Expression d(const Expression& x, const Expression& input) { return call("d", {x.node_, input.node_}); }
  // Extents of the problem.
  static Expression width() { return leaf("width()"); }
  static Expression rows() { return leaf("rows()"); }

  friend std::string program_text(const std::vector<std::pair<std::string, Expression>>& outputs);

 private:
  static constexpr int kComparison = 4, kMinus = 7, kPrimary = 8;

  struct Node;
  using Shared = std::shared_ptr<const Node>;
  struct Node {
    std::string text;  // of a leaf, an operator or a function
    int precedence = kPrimary;
    std::vector<Shared> arguments = {};
    std::string declaration = {};
    bool is_name = false;
  };

  explicit Expression(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}

  // A sign in front of a number binds as one.
  static Expression leaf(const std::string& text) { return Expression(Node{text, text[0] == '-' ? kMinus : kPrimary}); }
  static Expression call(const char* function, std::vector<Shared> arguments) {
    return Expression(Node{function, kPrimary, std::move(arguments)});
  }
  static Expression prefix(const char* text, int precedence, const Expression& x) {
    return Expression(Node{text, precedence, {x.node_}});
  }
  static Expression infix(const char* text, int precedence, const Expression& x, const Expression& y) {
    return Expression(Node{text, precedence, {x.node_, y.node_}});
  }

  // As the float that the launch gets. No locale's comma.
  static std::string number_text(double value) {
    if (std::isnan(value)) return "nan";
    const float narrow = static_cast<float>(value);
    if (std::isinf(narrow)) return narrow < 0 ? "-inf" : "inf";
    char text[40];
    std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(narrow));
    for (char& c : text) {
      if (c == ',') c = '.';
    }
    return text;
  }

  class Writer;

  Shared node_;
};

// Parts that are used twice become locals.
class Expression::Writer {
 public:
  void take_name(const std::string& name) { taken_.insert(name); }

  void count(const Shared& node) {
    if (++uses_[node.get()] > 1) return;
    if (node->is_name) taken_.insert(node->text);
    if (!node->declaration.empty() && taken_.insert(node->declaration).second) add(node->declaration);
    for (const Shared& argument : node->arguments) count(argument);
  }

  // In parentheses if it binds looser than `least`.
  std::string text(const Shared& node, int least) {
    const auto known = locals_.find(node.get());
    if (known != locals_.end()) return known->second;
    const std::string all = node->arguments.empty() ? node->text : written(*node);
    if (!node->arguments.empty() && uses_[node.get()] > 1) return locals_[node.get()] = local(all);
    return node->precedence < least ? "(" + all + ")" : all;
  }

  // The name of a local with this value.
  std::string local(const std::string& value) {
    std::string name;
    do {
      name = "t" + std::to_string(++count_);
    } while (!taken_.insert(name).second);
    add("let " + name + " = " + value);
    return name;
  }

  bool is_taken(const std::string& name) const { return taken_.count(name) != 0; }
  void add(const std::string& statement) { all_ += (all_.empty() ? "" : "; ") + statement; }
  const std::string& all() const { return all_; }

 private:
  // Comparisons are not chained.
  std::string written(const Node& node) {
    if (node.precedence == kPrimary) return node.text + "(" + list(node.arguments) + ")";
    if (node.arguments.size() == 1) return node.text + text(node.arguments[0], node.precedence);
    const int left = node.precedence + (node.precedence == kComparison ? 1 : 0);
    const std::string first = text(node.arguments[0], left);
    return first + node.text + text(node.arguments[1], node.precedence + 1);
  }

  std::string list(const std::vector<Shared>& arguments) {
    std::string all;
    for (const Shared& argument : arguments) all += (all.empty() ? "" : ", ") + text(argument, 0);
    return all;
  }

  std::map<const Node*, int> uses_;
  std::map<const Node*, std::string> locals_;
  std::set<std::string> taken_;
  int count_ = 0;
  std::string all_;
};

// The program with these outputs, in this order. Where one replaces an input, the values of all have names before.
inline std::string program_text(const std::vector<std::pair<std::string, Expression>>& outputs) {
  Expression::Writer writer;
  for (const auto& output : outputs) writer.count(output.second.node_);
  bool replaces = false;
  for (const auto& output : outputs) replaces = replaces || writer.is_taken(output.first);
  for (const auto& output : outputs) writer.take_name(output.first);
  std::vector<std::string> values;
  for (const auto& output : outputs) {
    const std::string value = writer.text(output.second.node_, 0);
    values.push_back(replaces && outputs.size() > 1 ? writer.local(value) : value);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) writer.add(outputs[i].first + " = " + values[i]);
  return writer.all();
}

inline std::string Expression::text(const std::string& output) const { return program_text({{output, *this}}); }

}  // namespace quern

#endif  // QUERN_EXPRESSION_H_
