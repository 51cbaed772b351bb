#include "expression/chain_rule.h"

#include <map>
#include <string>

#include "expression/grammar.h"

namespace quern::expression {
namespace {

// The names of a formula of the table: x, y and z are a node's arguments, r its result and g its gradient.
class FormulaNames : public Names {
 public:
  FormulaNames(Tree& tree, Id node, Id gradient) : tree_(tree), node_(node), gradient_(gradient) {}

  Id read(const Token& name) override {
    const auto part = parts_.find(name.text);
    if (part != parts_.end()) return part->second;
    if (name.text == "g") return gradient_;
    if (name.text == "r") return node_;
    return tree_[node_].arguments[static_cast<std::size_t>(name.text[0] - 'x')];
  }
  // Constants: they are of the table, not of the caller.
  Id literal(float value, const Token&) override { return tree_.constant(value); }
  Id derivative(Id value, const Token&, std::size_t) override { return value; }  // no formula has one
  void check_size(const Token&) override {}
  bool takes_any_alpha() const override { return true; }

  void name(std::string_view part, Id id) { parts_[part] = id; }

 private:
  Tree& tree_;
  Id node_;
  Id gradient_;
  std::map<std::string_view, Id> parts_;
};

// `let` statements, and the expression.
Id formula(Tree& tree, const char* text, Id node, Id gradient) {
  const std::vector<Token> tokens = tokens_of(text);
  FormulaNames names(tree, node, gradient);
  Grammar grammar(tokens, tree, names);
  while (grammar.take_if("let")) {
    const Token name = grammar.take();
    grammar.expect("=", "");
    names.name(name.text, grammar.expression().id);
    grammar.take();
  }
  return grammar.expression().id;
}

}  // namespace

Id contribution(Tree& tree, Id node, int argument, Id gradient) {
  const char* const text = tree[node].row().gradient[argument];
  return *text == '\0' ? -1 : formula(tree, text, node, gradient);
}

Id derivative(Tree& tree, Id value, Id operand) {
  std::vector<bool> on(static_cast<std::size_t>(tree.size()));
  on[static_cast<std::size_t>(operand)] = true;
  const std::vector<bool> depends = dependents(tree, on);
  std::map<Id, Id> gradients = {{value, tree.constant(1)}};
  for (Id id = value; id > operand; --id) {
    const auto own = gradients.find(id);
    if (own == gradients.end()) continue;
    for (int i = 0; i < tree[id].count; ++i) {
      const Id argument = tree[id].arguments[static_cast<std::size_t>(i)];
      if (!depends[static_cast<std::size_t>(argument)]) continue;
      const Id part = contribution(tree, id, i, own->second);
      if (part < 0) continue;
      const auto [place, is_first] = gradients.try_emplace(argument, part);
      if (!is_first) place->second = tree.call(kAdd, {place->second, part});
    }
  }
  const auto found = gradients.find(operand);
  return found == gradients.end() ? tree.constant(0) : found->second;
}

}  // namespace quern::expression
